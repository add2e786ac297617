// What an answer is made of, on the screen: the same shape for one that is being given and one that was given.
import type { Message, Outcome, Part } from './client.ts';

export interface ToolBlock {
  kind: 'tool';
  // Which call of the turn; undefined for one that is read from the history.
  call?: number;
  callId: string;
  tool: string;
  // JSON, as the model wrote it; may be unfinished while it is streamed.
  args: string;
  outcome?: Outcome;
  output?: string;
  // A person is asked, and has not answered yet.
  asked?: boolean;
  approval?: string;
  startedAt?: number;
  endedAt?: number;
}

export type Block =
  | { kind: 'text'; text: string; open?: boolean }
  | { kind: 'reasoning'; text: string; open?: boolean }
  | { kind: 'asset'; media: 'image' | 'file'; mediaType: string; asset?: string; name?: string }
  | ToolBlock;

export const textOf = (message: Message): string =>
  message.text ??
  (message.parts ?? [])
    .filter((part): part is Extract<Part, { kind: 'text' }> => part.kind === 'text')
    .map((part) => part.text)
    .join('\n\n');

// The blocks of a message. `results` are the tool messages behind it: each call takes the first result with
// its id that no call before it has taken, since a model may use an id twice.
export function blocksOf(message: Message, results: readonly Message[] = []): Block[] {
  if (!message.parts) return message.text ? [{ kind: 'text', text: message.text }] : [];
  const waiting = results.flatMap((result) => (result.parts ?? []).filter((part) => part.kind === 'tool_result'));
  const blocks: Block[] = [];
  for (const part of message.parts) {
    switch (part.kind) {
      case 'text':
      case 'reasoning':
        if (part.text) blocks.push({ kind: part.kind, text: part.text });
        break;
      case 'tool_call': {
        const at = waiting.findIndex((result) => result.call_id === part.call_id);
        const result = at < 0 ? undefined : waiting.splice(at, 1)[0];
        blocks.push({
          kind: 'tool',
          callId: part.call_id,
          tool: part.tool,
          args: part.arguments_text ?? (part.arguments === undefined ? '' : JSON.stringify(part.arguments)),
          ...(result && { outcome: result.outcome, output: result.output ?? '' }),
        });
        break;
      }
      case 'image':
      case 'file':
        blocks.push({ kind: 'asset', media: part.kind, mediaType: part.media_type, asset: part.asset, name: part.address });
        break;
      case 'tool_result':
        break;
    }
  }
  return blocks;
}
