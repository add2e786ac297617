// Other tabs of this browser hear at once what the server would tell them a few seconds later.
export interface Word {
  session: string;
}

const channel = typeof BroadcastChannel === 'undefined' ? undefined : new BroadcastChannel('tertulia');

export const tellOtherTabs = (word: Word): void => channel?.postMessage(word);

export function hearOtherTabs(hear: (word: Word) => void): void {
  channel?.addEventListener('message', ({ data }) => {
    if (data && typeof data.session === 'string') hear(data as Word);
  });
}
