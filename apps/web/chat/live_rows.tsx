// A turn that is going on: what the person said, and the answer as it comes.
import { Icon } from '../shared/icons.tsx';
import { Answer } from './answer.tsx';
import { SentFiles } from './attachments.tsx';
import { wasBegun, type Conversation, type Exchange } from './state/conversation.ts';
import { draftOf, setDraft } from './state/draft.ts';
import { trying } from './state/place.ts';
import { sentence } from '../shared/words.ts';

export function SaidRow({ here, exchange }: { here: Conversation; exchange: Exchange }) {
  if (!exchange.said && exchange.files.length === 0) return null;
  return (
    <article class={exchange.queued ? 'said queued' : 'said'} aria-label="You">
      <div class="bubble">
        <SentFiles session={here.id} files={exchange.files} />
        {exchange.said && <p dir="auto">{exchange.said}</p>}
      </div>
      {/* As high as what one can do with it later, so that nothing moves when it is kept. */}
      <div class="actions">{exchange.queued && <small class="waits">waits for the answer before it</small>}</div>
    </article>
  );
}

export function LiveAnswer({ here, exchange }: { here: Conversation; exchange: Exchange }) {
  if (exchange.queued) return null;
  const { turn, problem } = exchange;
  const last = turn.blocks.at(-1);
  const quiet = !problem && !(last?.kind === 'text' && last.open) && !(last?.kind === 'tool' && !last.outcome);
  return (
    <article class="answer live" aria-label="Assistant" aria-busy={!problem}>
      <Answer here={here} blocks={turn.blocks} turn={turn.turn} />
      {turn.note && <p class="note">{turn.note}</p>}
      {quiet && (
        <p class="thinking" aria-label="Waiting for the model">
          <span />
          <span />
          <span />
        </p>
      )}
      {problem && <Problem here={here} exchange={exchange} />}
    </article>
  );
}

function Problem({ here, exchange }: { here: Conversation; exchange: Exchange }) {
  const problem = exchange.problem!;
  const begun = wasBegun(exchange);
  const giveUp = () => {
    here.dismiss(exchange.key);
    if (!draftOf(here.id)) setDraft(here.id, exchange.said);
  };
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence(problem.message)}</p>
        {begun && (
          <p class="problem-hint">
            Try again with the model chosen below, or write on: your next message tries this one once more, and leaves it without an
            answer if that fails too.
          </p>
        )}
        <p class="problem-actions">
          <button type="button" class="solid" onClick={() => trying(here.again(exchange))}>
            Try again
          </button>
          {!begun && (
            <button type="button" class="plain" onClick={giveUp}>
              Change the message
            </button>
          )}
          <code>{problem.code}</code>
        </p>
      </div>
    </div>
  );
}
