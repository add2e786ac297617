// The conversations of this person, the latest first, read page by page.
import { computed, signal } from '@preact/signals';
import type { Session, TertuliaError } from '../../shared/client.ts';
import { ageGroup } from '../../shared/words.ts';
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
  return typeof title === 'string' && title ? title : session.id;
};
export const isPinned = (session: Session): boolean => session.metadata?.['pinned'] === true;
// A conversation that was begun again at its first message belongs to the one it varies.
export const rootOf = (session: Session): string => {
  const root = session.metadata?.['variant_of'];
  return typeof root === 'string' && root ? root : session.id;
};

export async function loadSessions(): Promise<void> {
  try {
    const page = await asking(server.sessions({ limit: kPage }));
    sessions.value = page.sessions;
    next.value = page.next;
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
}

// A session as the server has it now. The latest activity comes first.
export function noteSession(session: Session): void {
  const others = sessions.value.filter((other) => other.id !== session.id);
  sessions.value = [session, ...others].sort((a, b) => b.last_activity.localeCompare(a.last_activity));
}

export async function renameSession(id: string, title: string): Promise<void> {
  noteSession(await asking(server.patchSession(id, { title })));
}

export async function pinSession(id: string, pinned: boolean): Promise<void> {
  noteSession(await asking(server.patchSession(id, { pinned: pinned || null })));
}

export async function deleteSession(id: string): Promise<void> {
  await asking(server.deleteSession(id));
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
