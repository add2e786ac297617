// Where one is: which conversation and branch, or which page. The address keeps it, so that the browser's own buttons work.
import { batch, signal } from '@preact/signals';
import type { Metadata, Part, TertuliaError } from '../../shared/client.ts';
import { asText, keep, readKept, tabStorage } from '../../shared/storage.ts';
import { saidOf } from '../../shared/blocks.ts';
import { sentence, titleFrom } from '../../shared/words.ts';
import { copyFiles } from './attachments.ts';
import { Conversation } from './conversation.ts';
import { chosenModel } from './models.ts';
import { agents, asking, loadAgents, reachable, server } from './server.ts';
import { isPinned, loadSessions, noteSession, rootOf, sessions, titleOf } from './session_list.ts';
import { hearOtherTabs } from './tabs.ts';
import { say } from './toasts.ts';

export type Page = 'chat' | 'memory' | 'workflows';

export const page = signal<Page>('chat');
// What stands behind the page in the address: which list of the memory, which workflow and run.
export const subPage = signal<readonly string[]>([]);
// None: a conversation that has not begun.
export const conversation = signal<Conversation | undefined>(undefined);
// Message that the thread should bring into sight when it opens.
export const aim = signal<number | undefined>(undefined);

const kPoll = 5000;

export const addressOf = (session: string, branch?: string): string =>
  `#/c/${encodeURIComponent(session)}${branch && branch !== 'main' ? `/${encodeURIComponent(branch)}` : ''}`;

// An address may have been written by hand.
function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

function readAddress(): void {
  const [, kind, ...rest] = location.hash.split('/');
  const [session, branch] = rest;
  if (kind === 'memory' || kind === 'workflows') {
    batch(() => {
      page.value = kind;
      subPage.value = rest.filter(Boolean).map(decoded);
    });
    return;
  }
  page.value = 'chat';
  if (kind === 'c' && session) enter(decoded(session), branch ? decoded(branch) : 'main');
  else leave();
}

function enter(session: string, branch: string): void {
  const before = conversation.value;
  if (before?.id === session && before.branch === branch) return;
  before?.leave();
  keep(tabStorage, 'tertulia.session', session);
  const opened = new Conversation(session, branch);
  conversation.value = opened;
  void opened.open();
}

function leave(): void {
  conversation.value?.leave();
  conversation.value = undefined;
}

export function newConversation(): void {
  keep(tabStorage, 'tertulia.session', undefined);
  aim.value = undefined;
  moveTo('#/');
}

export function goTo(session: string, branch?: string, message?: number): void {
  aim.value = message;
  moveTo(addressOf(session, branch));
}

// At once: the browser tells of a new address a moment later, and what is typed meanwhile belongs to the new place.
function moveTo(address: string): void {
  location.hash = address;
  readAddress();
}

// Makes a session for the first message of a conversation, so that it has its name before anything is said.
export async function beginConversation(said: string, metadata: Metadata = {}): Promise<Conversation> {
  const session = await asking(server.createSession({ metadata: { title: titleFrom(said), ...metadata } }));
  noteSession(session);
  const begun = new Conversation(session.id, 'main');
  begun.openNew(session);
  batch(() => {
    conversation.value?.leave();
    conversation.value = begun;
  });
  keep(tabStorage, 'tertulia.session', session.id);
  location.hash = addressOf(session.id);
  return begun;
}

// Says a message anew, at its place: a fork before it. A fork keeps at least one message, so the first one is said anew in a
// session of its own, another beginning of the same conversation, with what hangs on it: its name, its pin, its model, its files.
export async function sayAnew(from: Conversation, index: number, said: string, files: readonly Part[], label: string, model?: string) {
  if (index === 0) {
    // The list hears first of a new name.
    const session = sessions.value.find((other) => other.id === from.id) ?? from.session.value;
    const first = from.at(0);
    const given = session && first && titleOf(session) !== titleFrom(saidOf(first).said) && { title: titleOf(session) };
    const chosen = chosenModel(from.id, session);
    const begun = await beginConversation(said || label, {
      variant_of: session ? rootOf(session) : from.id,
      ...given,
      ...(chosen && { model: chosen }),
      ...(session && isPinned(session) && { pinned: true }),
    });
    void begun.send(said, await copyFiles(from.id, begun.id, files), 'reject', model);
    return;
  }
  const branch = await asking(server.fork(from.id, { from: from.branch, at_index: index - 1, label }));
  const forked = new Conversation(from.id, branch.id);
  await forked.open();
  aim.value = undefined;
  from.leave();
  conversation.value = forked;
  location.hash = addressOf(from.id, branch.id);
  void forked.send(said, files, 'reject', model);
}

// With another model, if one is named; '' is the agent's own.
export function regenerate(from: Conversation, index: number, model?: string): Promise<void> {
  const message = from.at(index);
  if (!message) return Promise.resolve();
  const { said, files } = saidOf(message);
  return sayAnew(from, index, said, files, 'Another answer', model);
}

// Runs what a person asked for, and says it when it fails.
export function trying(work: Promise<unknown>): void {
  work.catch((problem: TertuliaError) => say(sentence(problem.message), 'bad'));
}

// The same for whoever wants to know how it ends.
export function told<T>(work: Promise<T>): Promise<T> {
  trying(work);
  return work;
}

export function begin(): void {
  const kept = readKept(tabStorage, 'tertulia.session', asText);
  if ((location.hash === '' || location.hash === '#/') && kept) history.replaceState(null, '', addressOf(kept));
  window.addEventListener('hashchange', readAddress);
  readAddress();
  const look = () => {
    if (document.hidden) return;
    if (conversation.value?.state.value === 'ready') void conversation.value.check();
    else if (!reachable.value) void comeBack();
  };
  hearOtherTabs((word) => {
    if (word.session === conversation.value?.id) void conversation.value.check();
    else void loadSessions();
  });
  document.addEventListener('visibilitychange', look);
  window.addEventListener('online', look);
  window.setInterval(look, kPoll);
}

async function comeBack(): Promise<void> {
  await loadSessions();
  if (reachable.value && agents.value.length === 0) loadAgents().catch(() => {});
  const here = conversation.value;
  if (!reachable.value || here?.state.value !== 'failed') return;
  here.leave();
  const again = new Conversation(here.id, here.branch);
  conversation.value = again;
  await again.open();
}
