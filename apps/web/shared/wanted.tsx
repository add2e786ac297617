// The form for what a server wants to know while its tool runs.
import { useState } from 'preact/hooks';
import { answerOf, fieldsOf, type WantedField } from './wanted_fields.ts';

interface Props {
  tool: string;
  text: string;
  schema?: unknown;
  // JSON text of the answer; none: the person does not answer. If it cannot be given, it can be given again.
  give: (output?: string) => Promise<unknown>;
}

export function Wanted({ tool, text: words, schema, give: send }: Props) {
  const [filled, setFilled] = useState<ReadonlyMap<string, string>>(new Map());
  const [given, setGiven] = useState(false);
  const fields = fieldsOf(schema);
  const set = (name: string, text: string) => setFilled(new Map(filled).set(name, text));
  const give = (output?: string) => {
    setGiven(true);
    send(output).catch(() => setGiven(false));
  };
  const submit = (event: Event) => {
    event.preventDefault();
    give(JSON.stringify(answerOf(fields, filled)));
  };
  return (
    <form class="permission wanted" aria-label={`${tool} wants to know something`} onSubmit={submit}>
      <p dir="auto">{words}</p>
      {fields.map((field) => (
        <label key={field.name}>
          <span>{field.title}</span>
          {inputOf(field, filled.get(field.name) ?? field.given, (text) => set(field.name, text))}
          {field.hint && <small>{field.hint}</small>}
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

function inputOf(field: WantedField, value: string, change: (text: string) => void) {
  const { type, required } = field;
  if (type === 'boolean') return <input type="checkbox" checked={value === 'yes'} onChange={(event) => change(event.currentTarget.checked ? 'yes' : '')} />;
  if (type === 'choice') {
    return (
      <select value={value} required={required} onChange={(event) => change(event.currentTarget.value)}>
        <option value="" />
        {field.choices.map((choice) => (
          <option key={choice.value} value={choice.value}>
            {choice.title}
          </option>
        ))}
      </select>
    );
  }
  const common = { value, required, onInput: (event: { currentTarget: HTMLInputElement }) => change(event.currentTarget.value) };
  if (type === 'number' || type === 'integer') return <input type="number" step={type === 'integer' ? 1 : 'any'} min={field.least} max={field.most} {...common} />;
  if (type === 'date') return <input type="date" {...common} />;
  if (type === 'email') return <input type="email" {...common} />;
  return type === 'url' ? <input type="url" {...common} /> : <input type="text" dir="auto" {...common} />;
}
