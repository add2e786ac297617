// Documents on their way into memory, and how far they have got.
import { signal } from '@preact/signals';
import type { Job } from '../../shared/client.ts';
import { bytesWord } from '../../shared/words.ts';
import { asking, noteFailure, server } from '../state/server.ts';
import { say } from '../state/toasts.ts';
import { addDocument } from './calls.ts';

// The server takes no larger one (docs/contracts/api.md, Limits).
const kLargest = 24 * 1024 * 1024;
export const kDocumentLimits = `text, Markdown, HTML or PDF, each up to ${bytesWord(kLargest)}`;
export const kAccepted = '.txt,.md,.markdown,.html,.htm,.pdf,.csv,.json,.log,text/*,application/pdf';

// Those that have not ended, and those that failed until somebody has seen it.
export const underWay = signal<readonly Job[]>([]);
// Rises when a document has been taken in.
export const takenIn = signal(0);
const watched = new Set<string>();

const isOpen = (job: Job): boolean => job.status === 'queued' || job.status === 'running';

// What a document is: by its name where the browser does not know.
export function documentType(name: string, type: string): string | undefined {
  if (/\.(md|markdown)$/i.test(name) || type === 'text/markdown') return 'text/markdown';
  if (/\.html?$/i.test(name) || type === 'text/html') return 'text/html';
  if (/\.pdf$/i.test(name) || type === 'application/pdf') return 'application/pdf';
  if (type.startsWith('text/') || type === 'application/json' || /\.(txt|csv|json|log|toml|ya?ml|rst|org)$/i.test(name)) return 'text/plain';
  return undefined;
}

export async function uploadDocuments(collection: string, files: Iterable<File>): Promise<void> {
  const failed: string[] = [];
  let why: unknown;
  for (const file of files) {
    const type = documentType(file.name, file.type);
    if (!type) say(`${file.name} cannot be read: ${kDocumentLimits}.`, 'bad');
    else if (file.size > kLargest) say(`${file.name} has ${bytesWord(file.size)}; a document may have ${bytesWord(kLargest)}.`, 'bad');
    else if (file.size === 0) say(`${file.name} is empty.`, 'bad');
    else {
      try {
        note(await addDocument(collection, new Blob([file], { type }), file.name));
      } catch (problem) {
        // The others are sent all the same.
        failed.push(file.name);
        why = problem;
      }
    }
  }
  if (failed.length === 0) return;
  if (failed.length > 1) say(`${failed.length} documents were not sent: ${failed.join(', ')}.`, 'bad');
  else say(`${failed[0]} was not sent.`, 'bad');
  throw why;
}

// Goes on with what was under way when the page was opened.
export async function lookForJobs(): Promise<void> {
  for (const job of (await asking(server.jobs())).jobs) if (isOpen(job)) note(job);
}

export function dismissJob(id: string): void {
  underWay.value = underWay.value.filter((job) => job.id !== id);
}

function note(job: Job): void {
  const others = underWay.value.filter((other) => other.id !== job.id);
  const shown = isOpen(job) || job.status === 'failed';
  underWay.value = shown ? [...others, job] : others;
  if (job.status === 'done') takenIn.value += 1;
  if (job.status === 'done' && job.changed === false) say(`${job.source} was known already.`);
  if (isOpen(job) && !watched.has(job.id)) void watch(job);
}

async function watch(job: Job): Promise<void> {
  watched.add(job.id);
  let last = job;
  try {
    for await (const now of server.watchJob(job.id)) replace((last = now));
  } catch (problem) {
    // The job goes on without this page; its card stays.
    noteFailure(problem);
    say(`How far ${job.source} has got is not known any more; reload the page to look.`, 'bad');
  }
  watched.delete(job.id);
  if (!isOpen(last)) note(last);
}

const replace = (job: Job): void => {
  underWay.value = underWay.value.map((other) => (other.id === job.id ? job : other));
};
