// Conversations that have ended, as they are recalled.
import { useState } from 'preact/hooks';
import type { Episode } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import { clockTime } from '../../shared/words.ts';
import { ask } from '../dialogs.tsx';
import { goTo, trying } from '../state/place.ts';
import { say } from '../state/toasts.ts';
import { episodes, forgetEpisode } from './calls.ts';
import { Nothing, useLoaded, Waiting } from './loaded.tsx';
import { Score } from './parts.tsx';

const kReasons: Record<string, string> = {
  user_closed: 'closed by you',
  idle_timeout: 'ended when nobody said more',
  max_duration: 'ended after its longest time',
  agent_decision: 'ended by the agent',
  error: 'ended by an error',
};

export function EpisodeList() {
  const [more, setMore] = useState<{ list: Episode[]; next?: string }>();
  const loaded = useLoaded(async () => {
    setMore(undefined);
    return episodes();
  }, []);
  const list = [...(loaded.value?.episodes ?? []), ...(more?.list ?? [])];
  const next = more ? more.next : loaded.value?.next;
  const loadMore = async () => {
    const page = await episodes(next);
    setMore({ list: [...(more?.list ?? []), ...page.episodes], next: page.next });
  };
  const forget = async (episode: Episode) => {
    const yes = await ask({
      title: 'Forget this episode?',
      text: 'Agents no longer recall it. The conversation itself stays.',
      action: 'Forget',
      danger: true,
    });
    if (!yes) return;
    await forgetEpisode(episode.id);
    await loaded.again();
    say('Forgotten.');
  };
  return (
    <section aria-label="Episodes">
      <Waiting what="episodes" loaded={loaded}>
        {list.length === 0 && (
          <Nothing title="No episodes yet.">When a conversation ends, or nothing has been said in it for a while, a summary of it is kept here, and agents recall it when it fits.</Nothing>
        )}
        <ul class="cards">
          {list.map((episode) => (
            <EpisodeCard key={episode.id} episode={episode} forget={() => trying(forget(episode))} />
          ))}
        </ul>
        {next && (
          <button type="button" class="plain" onClick={() => trying(loadMore())}>
            Show earlier ones
          </button>
        )}
      </Waiting>
    </section>
  );
}

export function EpisodeCard({ episode, score, forget, children }: { episode: Episode; score?: number; forget?: () => void; children?: preact.ComponentChildren }) {
  const { summary, key_facts, turn_count = 0 } = episode;
  return (
    <li class={score === undefined ? '' : 'scored'}>
      {score !== undefined && <Score value={score} />}
      <p>{summary || 'A conversation without a summary.'}</p>
      {key_facts && key_facts.length > 0 && (
        <ul class="key-facts">
          {key_facts.map((fact, index) => (
            <li key={index}>{fact}</li>
          ))}
        </ul>
      )}
      {children}
      <p class="facts-line">
        <span>{clockTime(episode.closed_at)}</span>
        <span>
          {turn_count} {turn_count === 1 ? 'turn' : 'turns'}
        </span>
        <span>{kReasons[episode.end_reason] ?? episode.end_reason}</span>
        <button type="button" class="link" onClick={() => goTo(episode.session, episode.branch, episode.first)}>
          open the conversation
        </button>
      </p>
      {forget && (
        <button type="button" class="icon-button corner" aria-label={`Forget the episode of ${clockTime(episode.closed_at)}`} title="Forget" onClick={forget}>
          <Icon name="trash" size={16} />
        </button>
      )}
    </li>
  );
}
