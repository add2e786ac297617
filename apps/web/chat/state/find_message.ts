// Where a message is of which only the id is known. Its id tells when it was made, which leaves few conversations; in these
// it is looked for as a word in a dictionary, since ids rise within a branch.
import type { Session } from '../../shared/client.ts';
import { timeOfId } from '../../shared/message_time.ts';
import { asking, server } from './server.ts';

export interface MessagePlace {
  session: string;
  branch: string;
  index: number;
}

// Clocks of an import and of a store may differ a little.
const kSlack = 60_000;

export async function findMessage(id: string): Promise<MessagePlace | undefined> {
  const time = timeOfId(id);
  if (time === undefined) return undefined;
  for (let cursor: string | undefined; ; ) {
    const page = await asking(server.sessions({ limit: 200, ...(cursor && { cursor }) }));
    for (const session of page.sessions) {
      if (session.damaged || Date.parse(session.created_at) > time + kSlack || Date.parse(session.last_activity) < time - kSlack) continue;
      const found = await inSession(await asking(server.session(session.id)), id);
      if (found) return found;
    }
    // The latest activity comes first: what follows ended before the message was made.
    const last = page.sessions.at(-1);
    if (!page.next || !last || Date.parse(last.last_activity) < time - kSlack) return undefined;
    cursor = page.next;
  }
}

async function inSession(session: Session, id: string): Promise<MessagePlace | undefined> {
  for (const branch of session.branches ?? []) {
    // What a fork shares with its parent was looked at there.
    let low = branch.forked_from ? branch.forked_from.at_index + 1 : 0;
    let high = branch.messages - 1;
    while (low <= high) {
      const middle = Math.floor((low + high) / 2);
      const { messages } = await asking(server.messages(session.id, { branch: branch.id, from: middle, limit: 1 }));
      const first = messages[0];
      const last = messages.at(-1);
      if (!first || !last) break;
      const found = messages.find((message) => message.id === id);
      if (found) return { session: session.id, branch: branch.id, index: found.index };
      if (id < first.id) high = Math.min(middle, first.index) - 1;
      else if (id > last.id) low = Math.max(middle, last.index) + 1;
      else break;
    }
  }
  return undefined;
}
