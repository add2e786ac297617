// Small parts that several lists of the page have.
import { useState } from 'preact/hooks';
import { timeOfId } from '../../shared/message_time.ts';
import { clockTime } from '../../shared/words.ts';
import { findMessage } from '../state/find_message.ts';
import { goTo, trying } from '../state/place.ts';
import { agents } from '../state/server.ts';
import { say } from '../state/toasts.ts';

export const agentName = (id: string): string => agents.value.find((agent) => agent.id === id)?.name || id;

// Whose a collection is, in words.
export function collectionWords(id: string): string {
  const [kind, name] = [id.split('.', 1)[0]!, id.slice(id.indexOf('.') + 1)];
  if (id === 'user') return 'you, with every agent';
  if (kind === 'user') return `you, with ${agentName(name)}`;
  if (kind === 'agent') return `everybody who talks to ${agentName(name)}`;
  return `everybody: ${name}`;
}

export function Whose({ collection }: { collection: string }) {
  if (collection === 'user') return null;
  return <span class="badge">{collectionWords(collection)}</span>;
}

export const dayOf = (time: string): string => new Date(time).toLocaleDateString(undefined, { dateStyle: 'medium' });

// The message that said something. Where it stands is looked for when somebody wants to go there.
export function SourceLink({ message }: { message: string }) {
  const [looking, setLooking] = useState(false);
  const time = timeOfId(message);
  const go = async () => {
    setLooking(true);
    try {
      const place = await findMessage(message);
      if (place) goTo(place.session, place.branch, place.index);
      else say('The conversation in which it was said is not here any more.');
    } finally {
      setLooking(false);
    }
  };
  return (
    <button type="button" class="link" aria-busy={looking} disabled={looking} onClick={() => trying(go())}>
      {looking ? 'Looking for it…' : time === undefined ? 'where it was said' : `said ${clockTime(new Date(time).toISOString())}`}
    </button>
  );
}

// How near something is to what was asked, from 0 to 1.
export function Score({ value }: { value: number }) {
  const share = Math.max(0, Math.min(1, value));
  return (
    <span class="score" role="img" aria-label={`score ${share.toFixed(2)}`}>
      <span class="score-bar">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      {share.toFixed(2)}
    </span>
  );
}
