// What was said in conversations that have ended, found by its meaning, below the ones that the search finds by name.
import { useEffect, useState } from 'preact/hooks';
import { searchEpisodes, type FoundEpisode } from './memory/calls.ts';
import { goTo } from './state/place.ts';
import { sessions, titleOf } from './state/session_list.ts';

// Shorter ones mean nothing yet.
const kLeastLetters = 3;
const kNear = 0.2;
const kPause = 300;

export function SaidBefore({ query, chosen }: { query: string; chosen: () => void }) {
  const [found, setFound] = useState<FoundEpisode[]>([]);
  const words = query.trim();
  useEffect(() => {
    setFound([]);
    if (words.length < kLeastLetters) return;
    let wanted = true;
    const timer = setTimeout(() => {
      // The names are found all the same where there is no memory.
      searchEpisodes(words).then((all) => wanted && setFound(all.filter((one) => one.score >= kNear)), () => {});
    }, kPause);
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [words]);
  if (found.length === 0) return null;
  return (
    <section aria-label="Said before">
      <h2>Said before</h2>
      <ul>
        {found.map(({ episode, quotes }) => {
          const session = sessions.value.find((other) => other.id === episode.session);
          return (
            <li key={episode.id} class="said-before">
              <button type="button" onClick={() => (goTo(episode.session, episode.branch, episode.first), chosen())}>
                <span>{session ? titleOf(session) : episode.session}</span>
                <small>{quotes?.[0] ?? episode.summary}</small>
              </button>
            </li>
          );
        })}
      </ul>
    </section>
  );
}
