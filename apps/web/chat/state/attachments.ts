// Files that are to be sent with the next message.
import { signal } from '@preact/signals';
import { textFilePart } from '../../shared/blocks.ts';
import type { Part } from '../../shared/client.ts';
import { bytesWord } from '../../shared/words.ts';
import { asking, server } from './server.ts';
import { say } from './toasts.ts';

export interface Attachment {
  key: number;
  file: File;
  // Where the browser has the picture; none if it is not one that can be drawn.
  picture?: string;
  // What a picture shows, for those who cannot see it.
  words: string;
}

// The server takes no larger one (docs/contracts/api.md, Limits).
const kLargest = 32 * 1024 * 1024;
const kMost = 10;
export const kFileLimits = `up to ${kMost} files, each up to ${bytesWord(kLargest)}`;

// Pictures that browsers draw without running anything in them, and of these the ones that models can be shown.
export const kDrawn: ReadonlySet<string> = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif']);
const kSeen = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp']);

export const attachments = signal<readonly Attachment[]>([]);
let count = 0;

export function addFiles(list: Iterable<File>): void {
  const added: Attachment[] = [];
  for (const file of list) {
    const problem = problemOf(file, attachments.value.length + added.length);
    if (problem) say(problem, 'bad');
    else added.push({ key: ++count, file, words: '', ...(kDrawn.has(file.type) && { picture: URL.createObjectURL(file) }) });
  }
  attachments.value = [...attachments.value, ...added];
}

function problemOf(file: File, before: number): string | undefined {
  if (before >= kMost) return `${file.name} is one too many: a message takes ${kMost} files.`;
  if (file.size > kLargest) return `${file.name} has ${bytesWord(file.size)}; a file may have ${bytesWord(kLargest)}.`;
  if (file.size === 0) return `${file.name} is empty.`;
  return undefined;
}

// What was dropped or pasted. A folder is not a file, although browsers hand it over like one.
export function addFrom(transfer: DataTransfer | null): void {
  if (!transfer) return;
  const items = [...transfer.items].filter((item) => item.kind === 'file');
  const folders = items.filter((item) => item.webkitGetAsEntry?.()?.isDirectory);
  if (folders.length > 0) say('Folders cannot be sent. Choose the files in them.', 'bad');
  addFiles(items.filter((item) => !folders.includes(item)).flatMap((item) => item.getAsFile() ?? []));
}

export function describe(key: number, words: string): void {
  attachments.value = attachments.value.map((one) => (one.key === key ? { ...one, words } : one));
}

export function removeFile(key: number): void {
  const gone = attachments.value.find((one) => one.key === key);
  if (gone?.picture) URL.revokeObjectURL(gone.picture);
  attachments.value = attachments.value.filter((one) => one.key !== key);
}

export function clearFiles(): void {
  for (const { key } of attachments.value) removeFile(key);
}

// What is text goes along as text; the rest becomes assets of the session.
const kInline = 100_000;
const isText = (file: File): boolean =>
  file.size <= kInline && (/^text\/|json|xml|yaml|toml|javascript/.test(file.type) || /\.(md|txt|csv|log|toml|yaml|yml|ts|py|cc|h|rs|go|sh|sql)$/i.test(file.name));

export function upload(session: string, list: readonly Attachment[]): Promise<Part[]> {
  return Promise.all(
    list.map(async ({ file, words }): Promise<Part> => {
      if (isText(file) && !kDrawn.has(file.type)) return textFilePart(file.name, await file.text());
      const { id, media_type } = await asking(server.addAsset(session, file));
      return { kind: kSeen.has(media_type) ? 'image' : 'file', media_type, asset: id, address: words.trim() || file.name };
    }),
  );
}

// Assets belong to one session: what is said anew in another one takes its own copies along.
export function copyFiles(from: string, to: string, files: readonly Part[]): Promise<Part[]> {
  return Promise.all(
    files.map(async (part): Promise<Part> => {
      if ((part.kind !== 'image' && part.kind !== 'file') || !part.asset) return part;
      const bytes = await asking(server.asset(from, part.asset));
      const { id } = await asking(server.addAsset(to, new Blob([bytes], { type: part.media_type })));
      return { ...part, asset: id };
    }),
  );
}
