// A turn that is going on: what the person said, and the answer as it comes.
import { Icon } from '../shared/icons.tsx';
import { Answer } from './answer.tsx';
import { SentFiles } from './attachments.tsx';
import { EditForm } from './edit_form.tsx';
import { wasBegun, type Conversation, type Exchange } from './state/conversation.ts';
import { trying } from './state/place.ts';
import { sentence } from '../shared/words.ts';

export function SaidRow({ here, exchange }: { here: Conversation; exchange: Exchange }) {
  if (!exchange.said && exchange.files.length === 0) return null;
  if (exchange.problem && here.edited.value === exchange.key) {
    const done = () => (here.edited.value = undefined);
    return <EditForm session={here.id} said={exchange.said} files={exchange.files} hint="It takes the place of the message that has no answer." done={done} send={(said) => trying(here.sayInstead(exchange, said))} />;
  }
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
      {turn.warnings.map((warning) => (
        <p key={warning} class="note">
          {sentence(warning)}
        </p>
      ))}
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
  return (
    <div class="problem" role="alert">
      <Icon name="warning" />
      <div>
        <p>{sentence(problem.message)}</p>
        {wasBegun(exchange) && (
          <p class="problem-hint">
            Retry uses the model chosen below. If you write on instead, this message is tried once more first, and stays unanswered if
            that fails too.
          </p>
        )}
        <p class="problem-actions">
          <button type="button" class="solid" onClick={() => trying(here.again(exchange))}>
            Retry
          </button>
          {exchange.said && (
            <button type="button" class="plain" onClick={() => (here.edited.value = exchange.key)}>
              Edit
            </button>
          )}
          <button type="button" class="plain" onClick={() => trying(here.discard(exchange))}>
            Discard
          </button>
          <code>{problem.code}</code>
        </p>
      </div>
    </div>
  );
}
