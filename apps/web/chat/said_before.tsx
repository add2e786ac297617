// What was said, below the conversations that the search finds by name: messages that have the words, and conversations that have
// ended and mean the same.
import { useEffect, useState } from 'preact/hooks';
import { searchEpisodes, searchMessages } from './memory/calls.ts';
import { goTo } from './state/place.ts';
import { sessions, titleOf } from './state/session_list.ts';

// Shorter ones mean nothing yet.
const kLeastLetters = 3;
const kPause = 300;

interface Said {
  id: string;
  session: string;
  branch: string;
  index: number;
  words?: string;
}

async function find(query: string): Promise<{ said: Said[]; failed: boolean }> {
  // The names are found all the same where neither is to be had.
  let failed = false;
  const none = () => ((failed = true), []);
  const [messages, episodes] = await Promise.all([searchMessages(query).catch(none), searchEpisodes(query).catch(none)]);
  const said = messages.map(({ id, session, branch, index, excerpt }) => ({ id, session, branch, index, words: excerpt }));
  const told = new Set(said.map(({ session }) => session));
  const meant = episodes.filter(({ episode }) => !told.has(episode.session));
  const all = [...said, ...meant.map(({ episode, quotes }) => ({ id: episode.id, session: episode.session, branch: episode.branch, index: episode.first, words: quotes?.[0] ?? episode.summary }))];
  return { said: all, failed };
}

export function SaidBefore({ query, chosen }: { query: string; chosen: () => void }) {
  const [found, setFound] = useState<Said[]>([]);
  const [failed, setFailed] = useState(false);
  const words = query.trim();
  useEffect(() => {
    setFound([]);
    setFailed(false);
    if (words.length < kLeastLetters) return;
    let wanted = true;
    const timer = setTimeout(() => void find(words).then((all) => wanted && (setFound(all.said), setFailed(all.failed))), kPause);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [words]);
  if (found.length === 0 && !failed) return null;
  return (
    <section aria-label="Said before">
      <h2>Said before</h2>
      {failed && <p role="status">What was said could not be searched, or not all of it.</p>}
      <ul>
        {found.map((said) => {
          const session = sessions.value.find((other) => other.id === said.session);
          return (
            <li key={said.id} class="said-before">
              <button type="button" onClick={() => (goTo(said.session, said.branch, said.index), chosen())}>
                <span>{session ? titleOf(session) : said.session}</span>
                <small>{said.words}</small>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
