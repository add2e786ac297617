// A turn while it happens: a pure function from what is known and the next event to what is known then.
import type { Block, ToolBlock } from './blocks.ts';
import type { Outcome, Receipt, TurnEvent } from './client.ts';

export type TurnStatus = 'waiting' | 'running' | 'committed' | 'interrupted' | 'failed';

export interface LiveTurn {
  turn?: string;
  status: TurnStatus;
  blocks: readonly Block[];
  receipts: readonly Receipt[];
  // How many blocks stood before the last model call: what a reset goes back to.
  mark: number;
  // The number of the last event.
  last: number;
  // The revision that the turn became.
  revision?: number;
  // What is going on beside the answer: a retry.
  note?: string;
  // What whoever reads the answer should know: something was left out, a memory was missing.
  warnings: readonly string[];
  // Why it ended early.
  code?: string;
  reason?: string;
}

export const newTurn = (turn?: string): LiveTurn => ({
  turn,
  status: 'waiting',
  blocks: [],
  receipts: [],
  warnings: [],
  mark: 0,
  last: -1,
});

export function applyEvent(state: LiveTurn, event: TurnEvent): LiveTurn {
  if (event.number <= state.last) return state;
  const next = { ...state, turn: event.turn, last: event.number };
  if (next.status === 'waiting') next.status = 'running';
  switch (event.kind) {
    case 'iteration':
      return { ...next, mark: state.blocks.length, note: undefined };
    case 'receipt':
      return { ...next, receipts: [...state.receipts, event.data as unknown as Receipt] };
    case 'text_started':
      return { ...next, blocks: [...state.blocks, { kind: 'text', text: '', open: true }] };
    case 'reasoning_started':
      return { ...next, blocks: [...state.blocks, { kind: 'reasoning', text: '', open: true }] };
    case 'text_delta':
      return { ...next, note: undefined, blocks: extend(state.blocks, 'text', event.text ?? '') };
    case 'reasoning_delta':
      return { ...next, note: undefined, blocks: extend(state.blocks, 'reasoning', event.text ?? '') };
    case 'text_ended':
    case 'reasoning_ended':
      return { ...next, blocks: closeLast(state.blocks) };
    case 'tool_call_started':
      return { ...next, blocks: [...closeLast(state.blocks), startedTool(event)] };
    case 'tool_call_arguments':
      return { ...next, blocks: changeTool(state.blocks, event, (tool) => ({ ...tool, args: tool.args + (event.text ?? '') })) };
    case 'tool_call_result':
      return { ...next, blocks: changeTool(state.blocks, event, (tool) => finishedTool(tool, event)) };
    case 'permission_asked':
      return { ...next, blocks: changeTool(state.blocks, event, (tool) => askedTool(tool, event)) };
    case 'permission_given':
      return {
        ...next,
        blocks: changeTool(state.blocks, event, (tool) => ({
          ...tool,
          asked: false,
          approval: event.name,
          startedAt: Date.parse(event.time),
        })),
      };
    case 'retry':
      return { ...next, note: `Trying again: ${event.text ?? ''}` };
    case 'reset':
      return { ...next, blocks: state.blocks.slice(0, state.mark), note: event.text };
    case 'warning':
      return warned(next, event.text ?? event.name ?? '');
    case 'context_degraded':
      return warned(next, `Not everything that is remembered could be used (${event.name}): ${event.text}`);
    case 'turn_committed':
      return { ...next, status: 'committed', revision: event.index, blocks: closeLast(state.blocks), note: undefined };
    case 'turn_interrupted':
      return { ...next, status: 'interrupted', reason: event.text, blocks: closeLast(state.blocks), note: undefined };
    case 'turn_failed':
    case 'error':
      return { ...next, status: 'failed', code: event.name, reason: event.text, blocks: closeLast(state.blocks) };
    default:
      return next;
  }
}

const warned = (state: LiveTurn, text: string): LiveTurn =>
  state.warnings.includes(text) ? state : { ...state, warnings: [...state.warnings, text] };

// Why an answer ends where it ends, if that is not by itself.
export const finishWords = (finish: string | undefined): string | undefined =>
  finish === 'length' ? 'The answer ends here because it has reached the longest that the model may give.' : undefined;

// The calls that wait for a person, in the order in which they were made.
export const openQuestions = (state: LiveTurn): ToolBlock[] =>
  state.blocks.filter((block): block is ToolBlock => block.kind === 'tool' && !!block.asked);

function extend(blocks: readonly Block[], kind: 'text' | 'reasoning', text: string): Block[] {
  const last = blocks.at(-1);
  if (last?.kind === kind && last.open) return [...blocks.slice(0, -1), { ...last, text: last.text + text }];
  return [...closeLast(blocks), { kind, text, open: true }];
}

function closeLast(blocks: readonly Block[]): readonly Block[] {
  const last = blocks.at(-1);
  if (!last || !('open' in last) || !last.open) return blocks;
  return [...blocks.slice(0, -1), { ...last, open: false }];
}

function startedTool(event: TurnEvent): ToolBlock {
  return {
    kind: 'tool',
    call: event.index ?? 0,
    callId: event.call_id ?? '',
    tool: event.name ?? '',
    args: '',
    startedAt: Date.parse(event.time),
  };
}

function finishedTool(tool: ToolBlock, event: TurnEvent): ToolBlock {
  const data = event.data as { outcome?: Outcome } | undefined;
  const outcome = data?.outcome ?? 'ok';
  return { ...tool, asked: false, outcome, output: event.text ?? '', endedAt: Date.parse(event.time) };
}

// What would run; or what a server of tools wants to know.
function askedTool(tool: ToolBlock, event: TurnEvent): ToolBlock {
  const asked = event.data as { arguments?: unknown; text?: string; schema?: unknown } | undefined;
  if (asked?.text !== undefined) {
    // Its id is turn/call/part.
    const part = event.call_id?.split('/')[2] ?? '';
    return { ...tool, asked: true, wanted: { part, text: asked.text, schema: asked.schema } };
  }
  const args = asked?.arguments === undefined ? tool.args : JSON.stringify(asked.arguments);
  return { ...tool, asked: true, args, wanted: undefined };
}

// Calls are numbered over the turn. A call that was not announced, as when a turn is resumed behind its model
// response, is announced by the first that is heard of it.
function changeTool(blocks: readonly Block[], event: TurnEvent, change: (tool: ToolBlock) => ToolBlock): Block[] {
  const call = event.index ?? 0;
  const at = blocks.findLastIndex((block) => block.kind === 'tool' && block.call === call);
  if (at < 0) return [...closeLast(blocks), change(startedTool(event))];
  return blocks.map((block, index) => (index === at ? change(block as ToolBlock) : block));
}
