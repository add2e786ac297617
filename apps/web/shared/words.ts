// Numbers and times as people read them.

const kMinute = 60_000;
const kDay = 24 * 60 * kMinute;

export function shortDuration(milliseconds: number): string {
  if (milliseconds < 1) return '< 1 ms';
  if (milliseconds < 1000) return `${Math.round(milliseconds)} ms`;
  if (milliseconds < kMinute) return `${(milliseconds / 1000).toFixed(milliseconds < 10_000 ? 1 : 0)} s`;
  return `${Math.floor(milliseconds / kMinute)} min ${Math.round((milliseconds % kMinute) / 1000)} s`;
}

export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  if (count < 1_000_000) return `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)} k`;
  return `${(count / 1_000_000).toFixed(1)} M`;
}

export function bytesWord(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  if (bytes < 1024 * 1024) return `${Math.round(bytes / 1024)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1).replace('.0', '')} MB`;
}

// What a server says of a failure, as a sentence of its own.
export const sentence = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1) + (/[.!?…]$/.test(text) ? '' : '.');

// A text without the marks that Markdown has, for a line or two of it.
export const plainWords = (text: string): string => text.replace(/^#+\s+|[*_`]+|^>\s?/gm, '').trim();

// Under which heading of the list a conversation stands.
export function ageGroup(time: string, now: number): string {
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  const at = Date.parse(time);
  if (at >= midnight) return 'Today';
  if (at >= midnight - kDay) return 'Yesterday';
  if (at >= midnight - 7 * kDay) return 'The last week';
  if (at >= midnight - 30 * kDay) return 'The last month';
  return new Date(at).toLocaleDateString(undefined, { month: 'long', year: 'numeric' });
}

export const clockTime = (time: string): string =>
  new Date(time).toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'short' });

// The first words of a message, as the name of a conversation.
export function titleFrom(text: string): string {
  const line = text.replace(/\s+/g, ' ').replace(/^[#>*\-\s]+/, '').trim();
  if (line.length <= 60) return line || 'New conversation';
  const cut = line.slice(0, 60);
  return `${cut.slice(0, Math.max(30, cut.lastIndexOf(' ')))}…`;
}
