// Conversations that nobody has named, as those of programs and of the command line: their first words, read when one is seen.
import { signal } from '@preact/signals';
import { saidOf } from '../../shared/blocks.ts';
import { titleFrom } from '../../shared/words.ts';
import { server } from './server.ts';

const known = signal<ReadonlyMap<string, string>>(new Map());
const asked = new Set<string>();
// One after the other: a list may have many of them.
let reading: Promise<void> = Promise.resolve();

// Undefined while they are not known, or if nothing was said.
export function firstWords(session: string): string | undefined {
  const words = known.value.get(session);
  if (words === undefined && !asked.has(session)) {
    asked.add(session);
    reading = reading.then(() => read(session));
  }
  return words;
}

async function read(session: string): Promise<void> {
  try {
    const { messages } = await server.messages(session, { branch: 'main', from: 0, limit: 1 });
    const said = messages.find((message) => message.role === 'user');
    if (said) known.value = new Map(known.value).set(session, titleFrom(saidOf(said).said));
  } catch {
    // It keeps its id.
  }
}
