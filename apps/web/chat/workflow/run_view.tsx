// What the participants of a run say and do, and what they ask, in the order in which it happened.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AskedArguments } from '../../shared/asked_arguments.tsx';
import type { Choice, Json, Question, TertuliaError } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import type { Asked, Line } from '../../shared/run_state.ts';
import { Wanted } from '../../shared/wanted.tsx';
import { sentence } from '../../shared/words.ts';
import { Prose } from '../answer.tsx';
import { goTo, told, trying } from '../state/place.ts';
import { asking, server } from '../state/server.ts';
import type { FollowedRun } from './followed_run.ts';

export function RunView({ here }: { here: FollowedRun }) {
  const { lines, requests, permissions, asks, status, reason } = here.state.value;
  const problem = here.problem.value;
  const why = problem?.message ?? reason;
  // Whose failure ends the run is named where it is told, once.
  const told = lines.findLast((line) => line.kind === 'note' && line.bad && line.text === why);
  const running = here.following.value && status === 'running';
  const end = useRef<HTMLDivElement>(null);
  const last = lines.at(-1);
  // Who reads the end sees what comes; who has scrolled up is left alone.
  useLayoutEffect(() => {
    const page = end.current?.closest('.page');
    if (!page || !here.following.value) return;
    const below = end.current!.getBoundingClientRect().bottom - page.getBoundingClientRect().bottom;
    if (below > 0 && below < 240) page.scrollTop += below + 24;
  }, [lines.length, last?.text, requests.length]);
  return (
    <div class="run">
      {here.said.value && (
        <article class="said" aria-label="You">
          <div class="bubble">
            <p dir="auto">{here.said.value}</p>
          </div>
        </article>
      )}
      {lines.map((line, index) => (line === told ? null : <LineView key={index} line={line} />))}
      {permissions > 0 && here.session.value && <Questions session={here.session.value} when={`${asks}/${permissions}`} used={lines.filter((line) => line.kind === 'tool' && line.open).map((line) => line.text)} />}
      {requests.map((request) => (
        <RequestCard key={request.id} here={here} request={request} />
      ))}
      {running && requests.length === 0 && !lines.some((line) => line.open) && (
        <p class="thinking" aria-label="Somebody is working">
          <span />
          <span />
          <span />
        </p>
      )}
      {(status === 'failed' || problem) && (
        <div class="problem" role="alert">
          <Icon name="warning" />
          <div>
            <p>
              {told?.who && <b>{told.who}: </b>}
              {sentence(why ?? 'The run failed.')}
            </p>
            {here.run.value && !here.following.value && (
              <p class="problem-actions">
                <button type="button" class="solid" onClick={() => trying(here.resume())}>
                  Resume the run
                </button>
                {problem && <code>{problem.code}</code>}
              </p>
            )}
          </div>
        </div>
      )}
      {status === 'cancelled' && <p class="cut">The run was stopped here. What was said is kept.</p>}
      {status === 'completed' && here.session.value && (
        <p class="run-end">
          <button type="button" class="link" onClick={() => goTo(here.session.value!, here.branch.value)}>
            Open it as a conversation
          </button>
        </p>
      )}
      <div ref={end} />
    </div>
  );
}

function LineView({ line }: { line: Line }) {
  if (line.kind === 'note') {
    return (
      <p class={line.bad ? 'run-note bad-words' : 'run-note'}>
        {line.who && <b>{line.who}</b>} {line.text}
      </p>
    );
  }
  if (line.kind === 'tool') {
    return (
      <details class="run-note">
        <summary>
          {line.who && <b>{line.who}</b>} {line.open ? 'uses' : 'used'} {line.text}
        </summary>
        {line.result && <pre>{line.result.slice(0, 20_000)}</pre>}
      </details>
    );
  }
  if (line.kind === 'thought') {
    return (
      <details class="thoughts">
        <summary>
          {line.who} {line.open ? 'is thinking…' : 'thought about it'}
        </summary>
        <Prose text={line.text} streaming={!!line.open} />
      </details>
    );
  }
  return (
    <article class="answer speech" aria-label={line.who || 'Result'} data-open={!!line.open}>
      <h2>
        <span class="face" aria-hidden="true">
          {(line.who || '?').slice(0, 1).toUpperCase()}
        </span>
        {line.who || 'Result'}
        {line.kind === 'output' && <span class="badge good">result</span>}
        {line.open && <span class="badge">speaking</span>}
      </h2>
      <Prose text={line.text} streaming={!!line.open} />
    </article>
  );
}

const kAsks: Record<string, { title: (node: string) => string; yes: string; words: string }> = {
  review: { title: (node) => `Is what ${node} wrote good as it is?`, yes: 'Approve', words: 'Or say what should be different' },
  plan_review: { title: () => 'Is this plan good?', yes: 'Approve the plan', words: 'Or say what should be different' },
  user: { title: (node) => `${node} waits for you`, yes: '', words: 'Your answer' },
};

function RequestCard({ here, request }: { here: FollowedRun; request: Asked }) {
  const [words, setWords] = useState('');
  const [sending, setSending] = useState(false);
  const kind = textOf(request.data, 'kind');
  const asks = kAsks[kind] ?? { title: (node: string) => `${node} asks`, yes: 'Approve', words: 'Your answer' };
  // What a participant has just said stands above already.
  const shown = ['plan', 'facts', ...(kAsks[kind] ? [] : ['text'])].map((name) => textOf(request.data, name)).filter(Boolean);
  const answer = async (text: string) => {
    setSending(true);
    try {
      await here.answer(request.id, text);
    } finally {
      setSending(false);
    }
  };
  return (
    <form class="asked" aria-label={asks.title(request.node)} onSubmit={(event) => (event.preventDefault(), words.trim() && trying(answer(words.trim())))}>
      <h2>{asks.title(request.node)}</h2>
      {shown.map((text, index) => (
        <Prose key={index} text={text} streaming={false} />
      ))}
      {!kAsks[kind] && shown.length === 0 && <pre>{JSON.stringify(request.data, null, 2)}</pre>}
      <textarea rows={2} value={words} aria-label={asks.words} placeholder={asks.words} onInput={(event) => setWords(event.currentTarget.value)} />
      <div class="permission-actions">
        {asks.yes && (
          <button type="button" class={words.trim() ? 'plain' : 'solid'} disabled={sending} onClick={() => trying(answer(''))}>
            <Icon name="check" size={16} /> {asks.yes}
          </button>
        )}
        <button type="submit" class={words.trim() ? 'solid' : 'plain'} disabled={sending || !words.trim()}>
          Send
        </button>
      </div>
    </form>
  );
}

const kChoices: { choice: Choice; name: string }[] = [
  { choice: 'once', name: 'Allow once' },
  { choice: 'always', name: 'Always allow' },
  { choice: 'deny', name: 'Deny' },
];

// Tools of participants ask as those of one agent do: whether they may run, and what their servers want to know.
function Questions({ session, when, used }: { session: string; when: string; used: readonly string[] }) {
  const [questions, setQuestions] = useState<Question[]>([]);
  const [unread, setUnread] = useState(false);
  const [tries, setTries] = useState(0);
  useEffect(() => {
    setUnread(false);
    asking(server.questions(session)).then((page) => setQuestions(page.questions), () => setUnread(true));
  }, [session, when, tries]);
  // A server's question does not say which of its tools asks; it is known while only one is in use.
  const tool = used.length === 1 ? used[0]! : 'A tool';
  const answer = async (question: Question, choice: Choice, output?: string) => {
    const call = question.part === undefined ? question.call : `${question.call}.${question.part}`;
    try {
      await asking(server.answer(session, question.turn, call, choice, output === undefined ? undefined : { output }));
    } catch (problem) {
      // Somebody was quicker. The events tell what they said.
      if ((problem as TertuliaError).code !== 'no_question') throw problem;
    }
    setQuestions((before) => before.filter((other) => other !== question));
  };
  return (
    <>
      {unread && (
        <p class="run-note bad-words" role="alert">
          Whether a tool waits for you could not be found out.{' '}
          <button type="button" class="plain" onClick={() => setTries(tries + 1)}>
            Try again
          </button>
        </p>
      )}
      {questions.map((question) =>
        question.kind === 'elicitation' ? (
          <div key={`${question.turn}/${question.call}/${question.part}`} class="asked">
            <h2>{tool} wants to know</h2>
            <Wanted tool={tool} text={question.text ?? ''} schema={question.schema} give={(output) => told(answer(question, output === undefined ? 'deny' : 'output', output))} />
          </div>
        ) : (
          <MayRun key={`${question.turn}/${question.call}`} question={question} answer={(choice) => answer(question, choice)} />
        ),
      )}
    </>
  );
}

function MayRun({ question, answer }: { question: Question; answer: (choice: Choice) => Promise<void> }) {
  const [given, setGiven] = useState(false);
  const give = (choice: Choice) => {
    setGiven(true);
    trying(answer(choice).finally(() => setGiven(false)));
  };
  return (
    <div class="asked" role="group" aria-label={`May ${question.tool} run?`}>
      <h2>May {question.tool} run?</h2>
      <AskedArguments text={JSON.stringify(question.arguments ?? {}, null, 2)} />
      <div class="permission-actions">
        {kChoices.map(({ choice, name }) => (
          <button key={choice} type="button" class={choice === 'once' ? 'solid' : 'plain'} disabled={given} onClick={() => give(choice)}>
            {name}
          </button>
        ))}
      </div>
    </div>
  );
}

function textOf(data: Json, name: string): string {
  const value = data && typeof data === 'object' && !Array.isArray(data) ? data[name] : undefined;
  return typeof value === 'string' ? value : '';
}
