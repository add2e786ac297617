// What is half written, in each conversation of this tab: it is there after a reload, and stays where it was begun.
import { effect, signal } from '@preact/signals';
import { keep, readKept, tabStorage } from '../../shared/storage.ts';

// By session; '' is a conversation that has not begun.
type Drafts = Readonly<Record<string, string>>;

const asDrafts = (value: unknown): Drafts =>
  Object.fromEntries(Object.entries((value ?? {}) as object).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

const drafts = signal<Drafts>(readKept(tabStorage, 'tertulia.drafts', asDrafts) ?? {});
effect(() => keep(tabStorage, 'tertulia.drafts', Object.keys(drafts.value).length > 0 ? drafts.value : undefined));

export const draftOf = (session = ''): string => drafts.value[session] ?? '';

export function setDraft(session = '', text: string): void {
  const { [session]: _, ...others } = drafts.value;
  drafts.value = text ? { ...others, [session]: text } : others;
}
