// The conversations of this person, the latest first, read page by page.
import { computed, signal } from '@preact/signals';
import { TertuliaError, type Session, type SessionPage } from '../../shared/client.ts';
import { ageGroup } from '../../shared/words.ts';
import { firstWords } from './first_words.ts';
import { asking, server } from './server.ts';

export const sessions = signal<readonly Session[]>([]);
export const listState = signal<'loading' | 'ready' | 'failed'>('loading');
export const listProblem = signal<TertuliaError>();
export const search = signal('');
const next = signal<string>();
export const hasMore = computed(() => next.value !== undefined);

const kPage = 100;

export const titleOf = (session: Session): string => {
  const title = session.metadata?.['title'];
  if (typeof title === 'string' && title) return title;
  return (!session.damaged && firstWords(session.id)) || session.id;
};
export const isPinned = (session: Session): boolean => session.metadata?.['pinned'] === true;
// A conversation that was begun again at its first message belongs to the one it varies.
export const rootOf = (session: Session): string => {
  const root = session.metadata?.['variant_of'];
  return typeof root === 'string' && root ? root : session.id;
};

// All beginnings of the same conversation that are known, the first one first.
export const familyOf = (session: Session): Session[] =>
  sessions.value
    .filter((other) => rootOf(other) === rootOf(session))
    .sort((a, b) => a.created_at.localeCompare(b.created_at) || a.id.localeCompare(b.id));

function noneIfGone(problem: unknown): Session[] {
  if (problem instanceof TertuliaError && problem.code === 'no_session') return [];
  throw problem;
}

// Those may be on pages of the list that have not been read.
export async function loadFamily(session: Session): Promise<void> {
  const root = rootOf(session);
  const { sessions: others } = await asking(server.sessions({ limit: 1000, 'metadata.variant_of': JSON.stringify(root) }));
  const missing = root !== session.id && !sessions.value.some(({ id }) => id === root);
  // The first one may have been deleted; the others stay together all the same. Whoever deletes them all must not take
  // one that could not be read for one that is gone.
  if (missing) others.push(...(await asking(server.session(root)).then((first) => [first], noneIfGone)));
  others.forEach(noteSession);
}

// Of one that is damaged nothing else is known.
const activityOf = (session: Session): string => (session.damaged ? '' : session.last_activity);
const latestFirst = (a: Session, b: Session): number => activityOf(b).localeCompare(activityOf(a));

// What has changed here so far: a page that was asked for before a change does not know of it.
let changes = 0;
let pagesRead = 0;

// The latest conversations, and those that are pinned, however old they are.
async function latest(): Promise<SessionPage & { pinned: readonly Session[] }> {
  for (;;) {
    const before = changes;
    const page = await asking(server.sessions({ limit: kPage }));
    const all = page.next === undefined ? page : await asking(server.sessions({ limit: 1000, 'metadata.pinned': 'true' }));
    if (before === changes) return { ...page, pinned: all.sessions.filter(isPinned) };
  }
}

export async function loadSessions(): Promise<void> {
  try {
    const page = await latest();
    // Whoever has read further down keeps what is there.
    const last = page.sessions.findLast((session) => !session.damaged)?.last_activity ?? '';
    const further = page.next === undefined ? [] : sessions.value.filter((other) => activityOf(other) <= last && !isPinned(other));
    const all = new Map([...further, ...page.pinned, ...page.sessions].map((session) => [session.id, session]));
    sessions.value = [...all.values()].sort(latestFirst);
    if (page.next === undefined || pagesRead < 2) {
      next.value = page.next;
      pagesRead = 1;
    }
    listState.value = 'ready';
  } catch (problem) {
    listProblem.value = problem as TertuliaError;
    if (sessions.value.length === 0) listState.value = 'failed';
  }
}

export async function loadMoreSessions(): Promise<void> {
  const cursor = next.value;
  if (cursor === undefined) return;
  const page = await asking(server.sessions({ limit: kPage, cursor }));
  if (next.value !== cursor) return;
  const known = new Set(sessions.value.map((session) => session.id));
  sessions.value = [...sessions.value, ...page.sessions.filter((session) => !known.has(session.id))];
  next.value = page.next;
  pagesRead += 1;
}

// A session as the server has it now. The latest activity comes first.
export function noteSession(session: Session): void {
  changes += 1;
  const others = sessions.value.filter((other) => other.id !== session.id);
  sessions.value = [session, ...others].sort(latestFirst);
}

export async function renameSession(id: string, title: string): Promise<void> {
  noteSession(await asking(server.patchSession(id, { title })));
}

// A conversation is one line of the list, however often it was begun: pinning and deleting mean all of it.
export async function pinSession(session: Session, pinned: boolean): Promise<void> {
  await loadFamily(session);
  for (const { id } of familyOf(session)) noteSession(await asking(server.patchSession(id, { pinned: pinned || null })));
}

export async function deleteSession(session: Session): Promise<void> {
  if (!session.damaged) await loadFamily(session);
  const ids = new Set([...familyOf(session).map(({ id }) => id), session.id]);
  for (const id of ids) await deleteBeginning(id);
}

export async function deleteBeginning(id: string): Promise<void> {
  await asking(server.deleteSession(id));
  changes += 1;
  sessions.value = sessions.value.filter((session) => session.id !== id);
}

export interface SessionGroup {
  name: string;
  sessions: Session[];
}

// What the list shows: of the variants of one conversation the latest; pinned ones first, the rest by age.
export function grouped(all: readonly Session[], query: string, now: number): SessionGroup[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  const seen = new Set<string>();
  const groups = new Map<string, Session[]>();
  const put = (name: string, session: Session) => {
    const group = groups.get(name);
    if (group) group.push(session);
    else groups.set(name, [session]);
  };
  for (const session of all) {
    if (session.damaged) {
      put('Damaged', session);
      continue;
    }
    if (seen.has(rootOf(session))) continue;
    seen.add(rootOf(session));
    const title = titleOf(session).toLowerCase();
    if (!words.every((word) => title.includes(word))) continue;
    put(isPinned(session) ? 'Pinned' : ageGroup(session.last_activity, now), session);
  }
  const result = [...groups].map(([name, list]) => ({ name, sessions: list }));
  return result.sort((a, b) => Number(b.name === 'Pinned') - Number(a.name === 'Pinned'));
}
