// What a server of tools wants to know while a call of it runs: the members of its schema, as MCP allows them.

export interface WantedField {
  name: string;
  title: string;
  hint: string;
  type: 'text' | 'email' | 'url' | 'date' | 'number' | 'integer' | 'boolean' | 'choice';
  choices: readonly { value: string; title: string }[];
  // What stands in it at first; of a boolean 'yes' or nothing.
  given: string;
  required: boolean;
  least?: number;
  most?: number;
}

type About = Record<string, unknown>;

const asText = (value: unknown): string => (typeof value === 'string' ? value : '');
const asNumber = (value: unknown): number | undefined => (typeof value === 'number' ? value : undefined);

// Without fields the answer is one text.
export function fieldsOf(schema: unknown): WantedField[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, About>; required?: string[] };
  const fields = Object.entries(properties).map(([name, about]) => fieldOf(name, about, required.includes(name)));
  return fields.length > 0 ? fields : [fieldOf('answer', {}, true)];
}

function fieldOf(name: string, about: About, required: boolean): WantedField {
  const choices = choicesOf(about);
  const type = choices.length > 0 ? 'choice' : typeOf(asText(about.type), asText(about.format));
  const given = type === 'boolean' ? (about.default === true ? 'yes' : '') : String(about.default ?? '');
  return {
    name,
    title: asText(about.title) || name,
    hint: asText(about.description),
    type,
    choices,
    given,
    required,
    least: asNumber(about.minimum),
    most: asNumber(about.maximum),
  };
}

// Choices with names stand in `oneOf`, or beside `enum` in `enumNames`.
function choicesOf(about: About): WantedField['choices'] {
  if (Array.isArray(about.oneOf)) {
    return about.oneOf.map((one: About) => ({ value: String(one.const), title: asText(one.title) || String(one.const) }));
  }
  const names = Array.isArray(about.enumNames) ? about.enumNames : [];
  return Array.isArray(about.enum) ? about.enum.map((value, index) => ({ value: String(value), title: asText(names[index]) || String(value) })) : [];
}

function typeOf(type: string, format: string): WantedField['type'] {
  if (type === 'boolean' || type === 'number' || type === 'integer') return type;
  if (format === 'uri') return 'url';
  return format === 'email' || format === 'date' ? format : 'text';
}

// What was filled in, in the types that the schema wants; what was left empty is left out.
export function answerOf(fields: readonly WantedField[], filled: ReadonlyMap<string, string>): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const { name, type, given } of fields) {
    const text = filled.get(name) ?? given;
    if (type === 'boolean') answer[name] = text === 'yes';
    else if (text !== '') answer[name] = type === 'number' || type === 'integer' ? Number(text) : text;
  }
  return answer;
}
