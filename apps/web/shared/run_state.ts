// A run of a workflow as it happens: a pure function from what is known and the next event to what is known then.
import type { Json, RunStatus, TurnEvent } from './client.ts';

export type NodeState = 'working' | 'done' | 'failed' | 'bypassed' | 'waiting';

export interface NodeRun {
  state: NodeState;
  calls: number;
  // Milliseconds in the calls that have ended.
  spent: number;
  since?: number;
}

export interface Line {
  who: string;
  kind: 'said' | 'thought' | 'tool' | 'note' | 'output';
  text: string;
  open?: boolean;
  bad?: boolean;
  // A tool's call.
  call?: string;
  result?: string;
}

export interface Asked {
  id: string;
  node: string;
  data: Json;
}

interface Happened {
  status: RunStatus;
  nodes: Readonly<Record<string, NodeRun>>;
  lines: readonly Line[];
  requests: readonly Asked[];
  // Supersteps that are durable.
  steps: number;
  // Tools that wait for a permission.
  permissions: number;
  // How often one has been asked for: an answer and the next question may come at once.
  asks: number;
  reason?: string;
}

export interface RunState extends Happened {
  // The number of the last event.
  last: number;
  began?: number;
  ended?: number;
  // What a reset goes back to: how it was when the last superstep was durable.
  mark: Happened;
}

const kNothing: Happened = { status: 'running', nodes: {}, lines: [], requests: [], steps: 0, permissions: 0, asks: 0 };
export const newRun = (): RunState => ({ ...kNothing, last: -1, mark: kNothing });

export function applyRunEvent(state: RunState, event: TurnEvent): RunState {
  if (event.number <= state.last) return state;
  const time = Date.parse(event.time);
  const next: RunState = { ...state, last: event.number, began: state.began ?? time };
  const who = event.name ?? '';
  switch (event.kind) {
    case 'workflow_started':
      return { ...next, status: 'running', ended: undefined, reason: undefined };
    case 'workflow_status':
      return settled(next, who as RunStatus, time);
    case 'workflow_failed':
      return { ...settled(next, 'failed', time), reason: event.text };
    case 'superstep_completed': {
      const { status, nodes, lines, requests, permissions, asks, reason } = next;
      // Counted from 1; the entry is 0.
      const steps = event.index ?? 0;
      return { ...next, steps, mark: { status, nodes, lines, requests, steps, permissions, asks, reason } };
    }
    case 'executor_invoked':
      return invoked(next, who, time);
    case 'executor_completed':
      return left(next, who, 'done', time);
    case 'executor_bypassed':
      return left(next, who, 'bypassed', time);
    case 'executor_failed':
      return note(left(next, who, 'failed', time), who, event.text ?? 'It failed.', true);
    case 'request_info':
      return asked(next, who, event);
    case 'workflow_output':
    case 'workflow_intermediate':
      return output(next, who, event.data);
    case 'handoff_sent':
      return note(next, who, `hands over to ${textAt(event.data, 'to')}`);
    case 'group_chat':
      return decided(next, who, event.data);
    case 'orchestrator':
      return note(next, who, planWords(event.data));
    case 'warning':
    case 'error':
      return note(next, who, event.text ?? '', event.kind === 'error');
    case 'reset':
      // Of one participant, whose model begins again; or of the run, which a crash has cut.
      if (who) return { ...next, lines: next.lines.filter((line) => line.who !== who || !line.open) };
      return { ...next, ...state.mark };
    default:
      return spoken(next, who, event);
  }
}

// Who is saying something at this moment.
export const speakers = (state: RunState): string[] => [
  ...new Set(state.lines.filter((line) => line.open && line.kind === 'said').map((line) => line.who)),
];

function spoken(state: RunState, who: string, event: TurnEvent): RunState {
  const text = event.text ?? '';
  switch (event.kind) {
    case 'text_started':
      return push(state, { who, kind: 'said', text: '', open: true });
    case 'reasoning_started':
      return push(state, { who, kind: 'thought', text: '', open: true });
    case 'text_delta':
      return extend(state, who, 'said', text);
    case 'reasoning_delta':
      return extend(state, who, 'thought', text);
    case 'text_ended':
    case 'reasoning_ended':
      return { ...state, lines: state.lines.map((line) => (line.open && line.who === who && line.kind !== 'tool' ? { ...line, open: false } : line)) };
    case 'tool_call_started':
      // The event names the tool; who uses it is known while only one works.
      return push(state, { who: onlyWorker(state), kind: 'tool', text: who, open: true, call: event.call_id });
    case 'tool_call_result': {
      const at = state.lines.findLastIndex((line) => line.kind === 'tool' && line.open && line.call === event.call_id);
      return { ...state, lines: state.lines.map((line, index) => (index === at ? { ...line, open: false, result: text } : line)) };
    }
    case 'permission_asked':
      return { ...state, permissions: state.permissions + 1, asks: state.asks + 1 };
    case 'permission_given':
      return { ...state, permissions: Math.max(0, state.permissions - 1) };
    default:
      return state;
  }
}

const push = (state: RunState, line: Line): RunState => ({ ...state, lines: [...state.lines, line] });
const note = (state: RunState, who: string, text: string, bad = false): RunState => (text ? push(state, { who, kind: 'note', text, bad }) : state);

function extend(state: RunState, who: string, kind: 'said' | 'thought', text: string): RunState {
  const at = state.lines.findLastIndex((line) => line.open && line.who === who && line.kind === kind);
  if (at < 0) return push(state, { who, kind, text, open: true });
  return { ...state, lines: state.lines.map((line, index) => (index === at ? { ...line, text: line.text + text } : line)) };
}

function onlyWorker(state: RunState): string {
  const working = Object.entries(state.nodes).filter(([, node]) => node.state === 'working');
  return working.length === 1 ? working[0]![0] : '';
}

function invoked(state: RunState, who: string, time: number): RunState {
  const before = state.nodes[who];
  const node: NodeRun = { state: 'working', calls: (before?.calls ?? 0) + 1, spent: before?.spent ?? 0, since: time };
  // A node that runs again has been answered.
  const requests = state.requests.filter((request) => request.node !== who);
  return { ...state, status: 'running', ended: undefined, requests, nodes: { ...state.nodes, [who]: node } };
}

function left(state: RunState, who: string, how: NodeState, time: number): RunState {
  const before = state.nodes[who];
  const spent = (before?.spent ?? 0) + (before?.since === undefined ? 0 : Math.max(0, time - before.since));
  const waits = how === 'done' && state.requests.some((request) => request.node === who);
  const node: NodeRun = { state: waits ? 'waiting' : how, calls: before?.calls ?? 0, spent };
  return { ...state, nodes: { ...state.nodes, [who]: node } };
}

function asked(state: RunState, who: string, event: TurnEvent): RunState {
  const id = event.call_id ?? '';
  const requests = [...state.requests.filter((request) => request.id !== id), { id, node: who, data: event.data ?? null }];
  const before = state.nodes[who] ?? { calls: 1, spent: 0 };
  return { ...state, requests, nodes: { ...state.nodes, [who]: { ...before, state: 'waiting' } } };
}

function settled(state: RunState, status: RunStatus, time: number): RunState {
  const lines = state.lines.map((line) => (line.open ? { ...line, open: false } : line));
  return { ...state, status, lines, ended: status === 'running' ? undefined : time };
}

// What comes out is often what somebody has just said, and is not shown twice.
function output(state: RunState, who: string, data: Json | undefined): RunState {
  const texts = Array.isArray(data) ? data.map((one) => textAt(one, 'text')) : [typeof data === 'string' ? data : textAt(data, 'text')];
  const said = new Set(state.lines.map((line) => line.text));
  if (texts.every((text) => said.has(text))) return state;
  const text = typeof data === 'string' ? data : textAt(data, 'text') || `\`\`\`json\n${JSON.stringify(data ?? null, null, 2)}\n\`\`\``;
  return push(state, { who, kind: 'output', text });
}

function decided(state: RunState, who: string, data: Json | undefined): RunState {
  const speaker = textAt(data, 'next_speaker');
  if (speaker) return note(state, who, `asks ${speaker} to speak`);
  return note(state, who, textAt(data, 'reason') || textAt(data, 'final_message') || 'ends the chat');
}

function planWords(data: Json | undefined): string {
  const what = textAt(data, 'what');
  const ledger = data && typeof data === 'object' && !Array.isArray(data) ? data['ledger'] : undefined;
  const plan = textAt(ledger, 'plan');
  return plan ? `makes a plan: ${plan}` : what;
}

function textAt(data: Json | undefined, name: string): string {
  const value = data && typeof data === 'object' && !Array.isArray(data) ? data[name] : undefined;
  return typeof value === 'string' ? value : '';
}
