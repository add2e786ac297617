// What the ids of a receipt stand for: pieces of knowledge and episodes, read from memory once somebody looks at them.
import { signal } from '@preact/signals';
import type { Collection, ReceiptItem } from '../../shared/client.ts';
import { plainWords } from '../../shared/words.ts';
import { server } from './server.ts';

export interface Named {
  words: string;
  // Where it is known from.
  from: string;
  // Where more of it is to be seen.
  address?: string;
}

const kForgotten: Named = { words: 'Forgotten since', from: 'it is not in memory any more' };

const named = signal<ReadonlyMap<string, Named>>(new Map());
const asked = new Set<string>();
let collections: Promise<Collection[]> | undefined;

const dayOf = (time: string): string => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

// Undefined while it is being read. Other tiers name their items themselves.
export function namedItem({ tier, id }: ReceiptItem): Named | undefined {
  const known = named.value.get(id);
  if (known || asked.has(id)) return known;
  asked.add(id);
  const read = tier === 'knowledge' ? knowledge(id) : episode(id);
  read.then(
    (found) => (named.value = new Map(named.value).set(id, found)),
    // Asked again when it is next looked at.
    () => asked.delete(id),
  );
  return undefined;
}

// A receipt does not say in which collection something was found; there are few.
async function knowledge(id: string): Promise<Named> {
  collections ??= server.collections().then((all) => all.collections);
  const list = await collections.catch((problem) => {
    collections = undefined;
    throw problem;
  });
  for (const name of new Set(['user', ...list.map((one) => one.id)])) {
    const item = await server.memoryItem(id, name).catch((problem) => {
      if (problem.code === 'not_found') return undefined;
      throw problem;
    });
    if (!item) continue;
    const words = plainWords(item.text).replace(/\s+/g, ' ');
    if (item.kind === 'chunk') {
      return { words, from: [item.source, ...(item.heading_path ?? [])].filter(Boolean).join(' › '), address: '#/memory/documents' };
    }
    return { words, from: item.kind === 'fact' ? `a fact since ${dayOf(item.time)}` : `said ${dayOf(item.time)}`, address: '#/memory/facts' };
  }
  return kForgotten;
}

async function episode(id: string): Promise<Named> {
  try {
    const found = (await server.episode(id)).episode;
    return { words: found.summary || 'A conversation without a summary', from: `a conversation of ${dayOf(found.closed_at)}`, address: `#/c/${encodeURIComponent(found.session)}` };
  } catch (problem) {
    if ((problem as { code?: string }).code === 'not_found') return kForgotten;
    throw problem;
  }
}
