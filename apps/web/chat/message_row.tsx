// A message that stands in the history.
import { memo } from './memo.ts';
import { useEffect, useState } from 'preact/hooks';
import { alternativesAt } from '../shared/branches.ts';
import { blocksOf, saidOf, textOf } from '../shared/blocks.ts';
import type { Cause, Message, Session } from '../shared/client.ts';
import { CopyButton } from '../shared/copy_button.tsx';
import { Icon } from '../shared/icons.tsx';
import { clockTime, sentence } from '../shared/words.ts';
import { Answer } from './answer.tsx';
import { SentFiles } from './attachments.tsx';
import { EditForm } from './edit_form.tsx';
import { showTurn } from './inspector.tsx';
import { AnswerAgainWith } from './pickers.tsx';
import type { Conversation } from './state/conversation.ts';
import { currentAgent, otherModel } from './state/models.ts';
import { goTo, regenerate, sayAnew, trying } from './state/place.ts';
import { familyOf, loadFamily } from './state/session_list.ts';

export function MessageRow({ here, index }: { here: Conversation; index: number }) {
  // A row that is not here yet is drawn again when messages come in.
  void here.version.value;
  const message = here.at(index);
  if (!message) return <div class="skeleton row" aria-hidden="true" />;
  if (message.role === 'tool' || message.internal) return null;
  if (message.role === 'user') return <UserRow here={here} message={message} />;
  if (message.role === 'assistant') return <AnswerRow here={here} message={message} />;
  return (
    <details class="aside">
      <summary>{message.role === 'system' ? 'Instructions' : 'Context'}</summary>
      <p>{textOf(message)}</p>
    </details>
  );
}

const UserRow = memo(function UserRow({ here, message }: { here: Conversation; message: Message }) {
  const [editing, setEditing] = useState(false);
  const { said, files } = saidOf(message);
  if (editing) {
    const send = (text: string) => trying(sayAnew(here, message.index, text, files, text.slice(0, 60) || 'Said anew'));
    return <EditForm session={here.id} said={said} files={files} hint="What was said before stays on its own branch." done={() => setEditing(false)} send={send} />;
  }
  return (
    <article class="said" aria-label="You" data-index={message.index}>
      <div class="bubble" title={clockTime(message.time)}>
        <SentFiles session={here.id} files={files} />
        {said && <Said text={said} />}
      </div>
      <div class="actions">
        <CopyButton text={said} label="Copy message" />
        <button type="button" class="icon-button edit" aria-label="Edit message" title="Edit: begins a new branch" disabled={here.busy.value} onClick={() => setEditing(true)}>
          <Icon name="edit" />
        </button>
        <Switcher here={here} index={message.index} />
      </div>
      {message.unanswered && <Unanswered here={here} message={message} cause={message.unanswered} edit={() => setEditing(true)} />}
    </article>
  );
});

// The history has no answer to it: why, and what one can do now.
function Unanswered({ here, message, cause, edit }: { here: Conversation; message: Message; cause: Cause; edit: () => void }) {
  const busy = here.busy.value;
  return (
    <div class="problem unanswered" role="note">
      <Icon name="warning" />
      <div>
        <p>{cause.code === 'cancelled' ? 'Stopped before there was an answer.' : `No answer. ${sentence(cause.message)}`}</p>
        <p class="problem-actions">
          <button type="button" class="plain" disabled={busy} title="Begins a new branch, with the model chosen below" onClick={() => trying(regenerate(here, message.index))}>
            Retry
          </button>
          <button type="button" class="plain" disabled={busy} title="Begins a new branch" onClick={edit}>
            Edit
          </button>
          {cause.code !== 'cancelled' && <code>{cause.code}</code>}
        </p>
      </div>
    </div>
  );
}

// A message that fills the screen is folded.
const kLong = 1500;

function Said({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  if (all || text.length <= kLong) return <p dir="auto">{text}</p>;
  return (
    <>
      <p dir="auto">{text.slice(0, kLong)}…</p>
      <button type="button" class="more" onClick={() => setAll(true)}>
        Show all
      </button>
    </>
  );
}

const AnswerRow = memo(function AnswerRow({ here, message }: { here: Conversation; message: Message }) {
  // Results of its tools may come in later than the message.
  void here.version.value;
  const blocks = blocksOf(message, here.resultsOf(message.index));
  const next = here.at(message.index + 1);
  // Rounds with tools are one answer; what one can do with it stands below its end.
  const isEnd = next ? next.turn !== message.turn : message.index === here.total.value - 1;
  const begin = firstOf(here, message);
  const other = otherModel(message);
  const speaker = speakerOf(here, message);
  return (
    <article class="answer" aria-label={message.author || 'Assistant'} data-index={message.index}>
      {speaker && <p class="speaker">{speaker}</p>}
      <Answer here={here} blocks={blocks} turn={message.turn} />
      {message.interrupted && <p class="cut">The answer was stopped here.</p>}
      {isEnd &&
        here.told.get(message.turn)?.map((words) => (
          <p key={words} class="note">
            {sentence(words)}
          </p>
        ))}
      {isEnd && (
        <div class="actions">
          <CopyButton text={textOf(message)} label="Copy answer" />
          <button
            type="button"
            class="icon-button"
            aria-label="Answer again"
            title="Another answer: begins a new branch"
            disabled={here.busy.value || begin === undefined}
            onClick={() => trying(regenerate(here, begin!))}
          >
            <Icon name="retry" />
          </button>
          {begin !== undefined && !here.busy.value && <AnswerAgainWith again={(model) => trying(regenerate(here, begin, model))} />}
          <button type="button" class="icon-button" aria-label="What the model was shown" title="What the model was shown" onClick={() => showTurn(message.turn)}>
            <Icon name="gauge" />
          </button>
          {other && <small class="by-model">by {other}</small>}
          {message.tokens !== undefined && <small>{message.tokens} tokens</small>}
        </div>
      )}
    </article>
  );
});

// Who speaks, where it is not the one agent that one talks to: participants of a workflow, another agent. Said once.
function speakerOf(here: Conversation, { author, index, turn }: Message): string | undefined {
  const agent = currentAgent();
  if (!author || !agent || author === (agent.name || agent.id)) return undefined;
  for (let at = index - 1; here.at(at)?.turn === turn; --at) {
    if (here.at(at)!.role === 'assistant') return here.at(at)!.author === author ? undefined : author;
  }
  return author;
}

// Where the turn of a message begins: the message of the person.
function firstOf(here: Conversation, message: Message): number | undefined {
  for (let index = message.index - 1; index >= 0; --index) {
    const before = here.at(index);
    if (!before || before.turn !== message.turn) return undefined;
    if (before.role === 'user') return index;
  }
  return undefined;
}

// ‹2/3›: the other ways that the conversation took at this message.
function Switcher({ here, index }: { here: Conversation; index: number }) {
  const session = here.session.value;
  const ways = index === 0 ? beginnings(session) : branchWays(here, index);
  useEffect(() => {
    if (index === 0 && session) loadFamily(session).catch(() => {});
  }, [session?.id]);
  if (ways.go.length < 2) return null;
  const step = (by: number) => ways.go[ways.current + by]?.();
  return (
    <span class="switcher" role="group" aria-label="Versions of this message">
      <button type="button" class="icon-button" aria-label="Previous version" disabled={ways.current === 0} onClick={() => step(-1)}>
        <Icon name="left" size={16} />
      </button>
      <span>
        {ways.current + 1}/{ways.go.length}
      </span>
      <button type="button" class="icon-button" aria-label="Next version" disabled={ways.current === ways.go.length - 1} onClick={() => step(1)}>
        <Icon name="right" size={16} />
      </button>
    </span>
  );
}

function branchWays(here: Conversation, index: number) {
  const { branches, current } = alternativesAt(here.branches, here.branch, index);
  return { current, go: branches.map((branch) => () => goTo(here.id, branch, index)) };
}

// The first message has other beginnings of the conversation beside it.
function beginnings(session: Session | undefined) {
  const all = session ? familyOf(session) : [];
  return {
    current: Math.max(0, all.findIndex((other) => other.id === session?.id)),
    go: all.map((other) => () => goTo(other.id, 'main', 0)),
  };
}

// The arrow key in an empty composer edits what was said last.
export function editLast(): void {
  [...document.querySelectorAll<HTMLElement>('.said .edit')].at(-1)?.click();
}
