// What would come to mind: the search that agents use, with its scores.
import { useState } from 'preact/hooks';
import type { Collection, MemoryItem, TertuliaError } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import { Prose } from '../answer.tsx';
import { search, searchEpisodes, type FoundEpisode } from './calls.ts';
import { EpisodeCard } from './episodes.tsx';
import { dayOf, Score, Whose } from './parts.tsx';

interface Found {
  query: string;
  items: MemoryItem[];
  episodes: FoundEpisode[];
}

const kShown = 600;
const kKinds = { chunk: 'document', fact: 'fact', turn: 'said' } as const;

export function MemorySearch({ collections, searching }: { collections: Collection[]; searching: (now: boolean) => void }) {
  const [query, setQuery] = useState('');
  const [found, setFound] = useState<Found>();
  const [problem, setProblem] = useState<TertuliaError>();
  const [looking, setLooking] = useState(false);
  const clear = () => {
    setFound(undefined);
    setProblem(undefined);
    searching(false);
  };
  const look = async () => {
    const words = query.trim();
    if (!words) return clear();
    searching(true);
    setLooking(true);
    setProblem(undefined);
    try {
      const [items, episodes] = await Promise.all([search(words, collections.map(({ id }) => id)), searchEpisodes(words)]);
      setFound({ query: words, items, episodes });
    } catch (reason) {
      setProblem(reason as TertuliaError);
    } finally {
      setLooking(false);
    }
  };
  return (
    <section aria-label="Search" class="memory-find">
      <form class="one-line" role="search" onSubmit={(event) => (event.preventDefault(), void look())}>
        <label class="search">
          <Icon name="search" size={16} />
          <input
            type="search"
            placeholder="Ask what would come to mind: when does the shop open?"
            aria-label="Search memory"
            value={query}
            onInput={(event) => {
              setQuery(event.currentTarget.value);
              if (!event.currentTarget.value) clear();
            }}
          />
        </label>
        <button type="submit" class="plain" disabled={looking || !query.trim()}>
          Search
        </button>
      </form>
      {looking && <div class="skeleton card" role="status" aria-label="Searching" />}
      {problem && (
        <p class="failed" role="alert">
          {problem.message}
        </p>
      )}
      {found && !looking && !problem && <Results found={found} />}
    </section>
  );
}

function Results({ found }: { found: Found }) {
  const { query, items, episodes } = found;
  const count = items.length + episodes.length;
  return (
    <>
      <p class="hint" role="status">
        {count === 0 ? `Nothing comes to mind about “${query}”.` : `${count} ${count === 1 ? 'thing comes' : 'things come'} to mind about “${query}”, the nearest first.`}
      </p>
      {items.length > 0 && (
        <ul class="cards" aria-label="Facts and documents">
          {items.map((item) => (
            <li key={`${item.collection}/${item.id}`} class="scored">
              {item.score !== undefined && <Score value={item.score} />}
              {!item.text.startsWith('#') && item.heading_path && item.heading_path.length > 0 && <b>{item.heading_path.join(' › ')}</b>}
              {item.kind === 'chunk' ? <Prose text={item.text.slice(0, kShown)} streaming={false} /> : <p class="found-text">{item.text.slice(0, kShown)}</p>}
              <p class="facts-line">
                <span class="badge">{kKinds[item.kind] ?? item.kind}</span>
                {item.kind === 'chunk' && <span>{item.source}</span>}
                {item.time && <span>{dayOf(item.time)}</span>}
                <Whose collection={item.collection} />
              </p>
            </li>
          ))}
        </ul>
      )}
      {episodes.length > 0 && (
        <ul class="cards" aria-label="Episodes">
          {episodes.map(({ episode, score, quotes }) => (
            <EpisodeCard key={episode.id} episode={episode} score={score}>
              {quotes?.map((quote, index) => (
                <blockquote key={index}>{quote}</blockquote>
              ))}
            </EpisodeCard>
          ))}
        </ul>
      )}
    </>
  );
}
