// What a server wants to know while its tool runs: a field for each member of its schema, as MCP allows them.
import { useState } from 'preact/hooks';
import { trying } from './state/place.ts';

interface Field {
  name: string;
  title: string;
  type: string;
  choices: readonly string[];
  required: boolean;
}

// Without fields the answer is one text.
export function fieldsOf(schema: unknown): Field[] {
  const { properties = {}, required = [] } = (schema ?? {}) as { properties?: Record<string, Record<string, unknown>>; required?: string[] };
  const fields = Object.entries(properties).map(([name, about]) => ({
    name,
    title: typeof about.title === 'string' ? about.title : name,
    type: String(about.type ?? 'string'),
    choices: Array.isArray(about.enum) ? about.enum.map(String) : [],
    required: required.includes(name),
  }));
  return fields.length > 0 ? fields : [{ name: 'answer', title: 'answer', type: 'string', choices: [], required: true }];
}

// What was filled in, in the types that the schema wants; what was left empty is left out.
export function answerOf(fields: readonly Field[], filled: ReadonlyMap<string, string>): Record<string, unknown> {
  const answer: Record<string, unknown> = {};
  for (const { name, type } of fields) {
    const text = filled.get(name) ?? '';
    if (type === 'boolean') answer[name] = text === 'yes';
    else if (text !== '') answer[name] = type === 'number' || type === 'integer' ? Number(text) : text;
  }
  return answer;
}

interface Props {
  tool: string;
  text: string;
  schema?: unknown;
  // JSON text of the answer; none: the person does not answer.
  give: (output?: string) => Promise<unknown>;
}

export function Wanted({ tool, text: words, schema, give: send }: Props) {
  const [filled, setFilled] = useState<ReadonlyMap<string, string>>(new Map());
  const [given, setGiven] = useState(false);
  const fields = fieldsOf(schema);
  const set = (name: string, text: string) => setFilled(new Map(filled).set(name, text));
  const give = (output?: string) => {
    setGiven(true);
    trying(
      send(output).catch((problem) => {
        setGiven(false);
        throw problem;
      }),
    );
  };
  const submit = (event: Event) => {
    event.preventDefault();
    give(JSON.stringify(answerOf(fields, filled)));
  };
  return (
    <form class="permission wanted" aria-label={`${tool} wants to know something`} onSubmit={submit}>
      <p>{words}</p>
      {fields.map((field) => (
        <label key={field.name}>
          <span>{field.title}</span>
          {inputOf(field, filled.get(field.name) ?? '', (text) => set(field.name, text))}
        </label>
      ))}
      <div class="permission-actions">
        <button type="submit" class="solid" disabled={given}>
          Answer
        </button>
        <button type="button" class="plain" title="The tool is told, and goes on without it" disabled={given} onClick={() => give()}>
          No answer
        </button>
      </div>
    </form>
  );
}

function inputOf(field: Field, value: string, change: (text: string) => void) {
  if (field.type === 'boolean')
    return <input type="checkbox" checked={value === 'yes'} onChange={(event) => change(event.currentTarget.checked ? 'yes' : '')} />;
  if (field.choices.length > 0)
    return (
      <select value={value} required={field.required} onChange={(event) => change(event.currentTarget.value)}>
        <option value="" />
        {field.choices.map((choice) => (
          <option key={choice} value={choice}>
            {choice}
          </option>
        ))}
      </select>
    );
  const common = { value, required: field.required, onInput: (event: { currentTarget: HTMLInputElement }) => change(event.currentTarget.value) };
  if (field.type === 'number' || field.type === 'integer') return <input type="number" step={field.type === 'integer' ? 1 : 'any'} {...common} />;
  return <input type="text" dir="auto" {...common} />;
}
