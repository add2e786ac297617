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
  // The call runs, and its server wants to know something: which question of the call, and what it looks like.
  wanted?: { part: string; text: string; schema?: unknown };
  approval?: string;
  startedAt?: number;
  endedAt?: number;
}

export type Block =
  | { kind: 'text'; text: string; open?: boolean }
  | { kind: 'reasoning'; text: string; open?: boolean }
  | { kind: 'asset'; media: 'image' | 'file'; mediaType: string; asset?: string; name?: string }
  | ToolBlock;

// A text file goes along as text, which every model can read: "File NAME:" and its content between marks that do not stand
// in it.
export function textFilePart(name: string, text: string): Extract<Part, { kind: 'text' }> {
  const longest = Math.max(2, ...(text.match(/`+/g) ?? []).map((marks) => marks.length));
  const marks = '`'.repeat(longest + 1);
  return { kind: 'text', text: `File ${name.replace(/\s+/g, ' ')}:\n\n${marks}\n${text.replace(/\n?$/, '\n')}${marks}` };
}

export interface TextFile {
  name: string;
  text: string;
}

// The file that a text part holds, if textFilePart made it.
export function textFileOf(part: Part): TextFile | undefined {
  if (part.kind !== 'text') return undefined;
  const found = /^File ([^\n]{1,300}):\n\n(`{3,})\n([^]*)\2$/.exec(part.text);
  return found ? { name: found[1]!, text: found[3]! } : undefined;
}

// What a person wrote, and what they sent along with it.
export function saidOf(message: Pick<Message, 'text' | 'parts'>): { said: string; files: readonly Part[] } {
  if (!message.parts) return { said: message.text ?? '', files: [] };
  const isFile = (part: Part) => part.kind === 'image' || part.kind === 'file' || textFileOf(part) !== undefined;
  const texts = message.parts.filter((part): part is Extract<Part, { kind: 'text' }> => part.kind === 'text' && !isFile(part));
  return { said: texts.map((part) => part.text).join('\n\n'), files: message.parts.filter(isFile) };
}

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
