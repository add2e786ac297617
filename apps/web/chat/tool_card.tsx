// A call of a tool: what it was given, how long it took, what came of it, and the question whether it may run.
import { useState } from 'preact/hooks';
import { AskedArguments } from '../shared/asked_arguments.tsx';
import type { ToolBlock } from '../shared/blocks.ts';
import type { Choice, ToolCallRecord } from '../shared/client.ts';
import { CopyButton } from '../shared/copy_button.tsx';
import { Icon } from '../shared/icons.tsx';
import { Wanted } from '../shared/wanted.tsx';
import { shortDuration } from '../shared/words.ts';
import type { Conversation } from './state/conversation.ts';
import { told, trying } from './state/place.ts';
import { server } from './state/server.ts';

const kOutcomes: Record<string, string> = {
  ok: 'done',
  error: 'failed',
  denied: 'not allowed',
  unknown: 'outcome unknown',
  interrupted: 'interrupted',
};

const kDoing: Record<string, string> = { asks: 'waits for you', held: 'waits', running: 'running' };

// `held`: it waits for what is asked about a call before it.
export function ToolCard({ here, block, turn, held }: { here: Conversation; block: ToolBlock; turn: string | undefined; held: boolean }) {
  const [open, setOpen] = useState(false);
  const [record, setRecord] = useState<ToolCallRecord>();
  const state = block.asked ? 'asks' : (block.outcome ?? (held ? 'held' : 'running'));
  const duration = record?.duration_us !== undefined ? record.duration_us / 1000 : liveDuration(block);
  const toggle = () => {
    setOpen(!open);
    if (open || record || block.call !== undefined || !turn) return;
    server.toolCalls({ session: here.id, turn, limit: 100 }).then(
      ({ tool_calls }) => setRecord(tool_calls.find((call) => call.call_id === block.callId)),
      // Class and duration are missing then; the call itself is shown.
      () => {},
    );
  };
  return (
    <section class="tool" data-state={state} aria-label={`Tool ${block.tool}`}>
      <button type="button" class="tool-head" aria-expanded={open} onClick={toggle}>
        <span class="tool-mark">{state === 'running' ? <span class="spinner" /> : <Icon name={markOf(state)} size={16} />}</span>
        <b>{block.tool}</b>
        {/* A question shows them whole. */}
        <span class="tool-args">{state === 'asks' ? '' : oneLine(block.args)}</span>
        <span class="tool-state">
          {kDoing[state] ?? kOutcomes[state]}
          {duration !== undefined && ` · ${shortDuration(duration)}`}
        </span>
        <Icon name={open ? 'down' : 'right'} size={16} />
      </button>
      {block.asked && turn && block.call !== undefined && !block.wanted && <Permission here={here} block={block} turn={turn} call={block.call} />}
      {block.asked && turn && block.wanted && (
        <Wanted
          key={block.wanted.part}
          tool={block.tool}
          text={block.wanted.text}
          schema={block.wanted.schema}
          give={(output) => told(here.answer(turn, `${block.call}.${block.wanted!.part}`, output === undefined ? 'deny' : 'output', output))}
        />
      )}
      {open && (
        <div class="tool-body">
          <ToolText title="Arguments" text={pretty(block.args)} />
          {block.output !== undefined && <ToolText title={block.outcome === 'ok' ? 'Result' : 'What it said'} text={pretty(block.output)} />}
          {record && (
            <p class="tool-facts">
              {record.class.replace('_', ' ')} · permission: {record.approval.replace('_', ' ')}
            </p>
          )}
        </div>
      )}
    </section>
  );
}

const markOf = (state: string) =>
  state === 'ok' ? ('check' as const) : state === 'asks' || state === 'held' ? ('tool' as const) : state === 'denied' ? ('close' as const) : ('warning' as const);

const liveDuration = (block: ToolBlock): number | undefined =>
  block.startedAt !== undefined && block.endedAt !== undefined ? Math.max(0, block.endedAt - block.startedAt) : undefined;

function ToolText({ title, text }: { title: string; text: string }) {
  return (
    <div class="tool-text">
      <div class="tool-title">
        {title} <CopyButton text={text} label={`Copy ${title.toLowerCase()}`} />
      </div>
      <pre tabIndex={0}>{text.slice(0, 20_000) || '(nothing)'}</pre>
    </div>
  );
}

const kChoices: { choice: Choice; name: string; hint: string; solid?: boolean }[] = [
  { choice: 'once', name: 'Allow once', hint: 'This call only', solid: true },
  { choice: 'always', name: 'Always allow', hint: 'This tool, in this conversation' },
  { choice: 'deny', name: 'Deny', hint: 'The agent is told, and goes on without it' },
];

function Permission({ here, block, turn, call }: { here: Conversation; block: ToolBlock; turn: string; call: number }) {
  const [given, setGiven] = useState<Choice>();
  const give = (choice: Choice) => {
    setGiven(choice);
    trying(
      here.answer(turn, call, choice).catch((problem) => {
        setGiven(undefined);
        throw problem;
      }),
    );
  };
  return (
    <div class="permission" role="group" aria-label={`May ${block.tool} run?`}>
      <p>
        May <b>{block.tool}</b> run with this?
      </p>
      <AskedArguments text={pretty(block.args)} />
      <div class="permission-actions">
        {kChoices.map(({ choice, name, hint, solid }) => (
          <button key={choice} type="button" class={solid ? 'solid' : 'plain'} title={hint} disabled={given !== undefined} onClick={() => give(choice)}>
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}

export function oneLine(args: string): string {
  try {
    const value: unknown = JSON.parse(args);
    if (value && typeof value === 'object' && !Array.isArray(value)) {
      return Object.entries(value)
        .map(([name, member]) => `${name}: ${typeof member === 'string' ? member : JSON.stringify(member)}`)
        .join(', ')
        .slice(0, 200);
    }
  } catch {
    // Unfinished, or not JSON: shown as it is.
  }
  return args.slice(0, 200);
}

export function pretty(text: string): string {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' ? JSON.stringify(value, null, 2) : text;
  } catch {
    return text;
  }
}
