import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AskedArguments } from '../shared/asked_arguments.tsx';
import { Icon } from '../shared/icons.tsx';
import type { Block, ToolBlock } from '../shared/blocks.ts';
import { MarkdownText, type MarkdownParts } from '../shared/markdown.ts';
import type { TertuliaError } from '../shared/client.ts';
import { openQuestions } from '../shared/turn_state.ts';
import { Wanted } from '../shared/wanted.tsx';
import { sentence } from '../shared/words.ts';
import type { Visit } from './visit.ts';

export interface Look {
  mode: 'bubble' | 'inline' | 'page';
  heading: string;
  greeting: string;
  placeholder: string;
}

interface Props {
  host: HTMLElement;
  visit: Visit;
  look: Look;
  tell: (name: string, detail: Record<string, unknown>) => void;
}

export function Panel({ host, visit, look, tell }: Props) {
  const [shown, setShown] = useState(look.mode !== 'bubble');
  const opener = useRef<HTMLButtonElement>(null);
  const show = (wanted: boolean) => {
    if (look.mode !== 'bubble') return;
    setShown(wanted);
    tell(wanted ? 'open' : 'close', {});
    if (!wanted) opener.current?.focus();
  };
  useEffect(() => {
    const asked = (event: Event) => show((event as CustomEvent<boolean>).detail);
    host.addEventListener('tertulia:show', asked);
    return () => host.removeEventListener('tertulia:show', asked);
  }, [look.mode]);
  useEffect(() => {
    if (shown) void visit.open();
  }, [shown]);
  return (
    <>
      {shown && (
        <section
          class="panel"
          role={look.mode === 'bubble' ? 'dialog' : 'region'}
          aria-label={look.heading}
          onKeyDown={(event) => event.key === 'Escape' && show(false)}
        >
          <header>
            <h2>{look.heading}</h2>
            {visit.reconnecting.value && <span class="lost">connecting…</span>}
            {look.mode === 'bubble' && (
              <button type="button" class="icon-button" aria-label="Close chat" onClick={() => show(false)}>
                <Icon name="close" />
              </button>
            )}
          </header>
          <Lines visit={visit} greeting={look.greeting} />
          <Field visit={visit} placeholder={look.placeholder} focus={look.mode === 'bubble'} />
        </section>
      )}
      {look.mode === 'bubble' && (
        <button ref={opener} type="button" class="opener" aria-expanded={shown} aria-label={shown ? 'Close chat' : 'Open chat'} onClick={() => show(!shown)}>
          <Icon name={shown ? 'down' : 'chat'} size={24} />
        </button>
      )}
    </>
  );
}

function Lines({ visit, greeting }: { visit: Visit; greeting: string }) {
  const box = useRef<HTMLDivElement>(null);
  const live = visit.live.value;
  const lines = visit.lines.value;
  const problem = visit.problem.value;
  useLayoutEffect(() => {
    if (box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, live, problem]);
  const last = live?.blocks.at(-1);
  return (
    <div class="lines" ref={box} role="log" aria-live="polite" aria-busy={live !== undefined} tabIndex={0} aria-label="Messages">
      {visit.state.value === 'loading' && !problem && <p class="dots" aria-label="Loading"><i /><i /><i /></p>}
      {visit.state.value === 'ready' && lines.length === 0 && <div class="line agent"><p>{greeting}</p></div>}
      {lines.map((line) => (
        <div key={line.id} class={`line ${line.who}`}>
          {line.who === 'visitor' ? <p class="plain-text" dir="auto">{line.text}</p> : <Blocks blocks={line.blocks} />}
          {line.interrupted && <p class="cut">stopped</p>}
          {line.note && <p class="cut">{line.note}</p>}
          {line.unanswered && <p class="cut">no answer</p>}
        </div>
      ))}
      {live && (
        <div class="line agent">
          <Blocks blocks={live.blocks} />
          {openQuestions(live).map((question) => (
            <Question key={`${question.call}/${question.wanted?.part}`} visit={visit} question={question} />
          ))}
          {!(last?.kind === 'text' && last.open) && openQuestions(live).length === 0 && (
            <p class="dots" aria-label="The answer is being written"><i /><i /><i /></p>
          )}
        </div>
      )}
      {problem && (
        <div class="problem" role="alert">
          <p>{problemWords(problem)}</p>
          <div class="permission-actions">
            <button type="button" class="solid" onClick={() => void visit.again()}>Retry</button>
            {visit.state.value === 'ready' && <button type="button" class="plain" onClick={() => void visit.discard()}>Discard</button>}
          </div>
        </div>
      )}
    </div>
  );
}

// What is wrong with a model or a key is for whoever runs it, who is told by the event.
function problemWords({ code, message, status }: TertuliaError): string {
  // A browser does not tell a page that it was refused from a server that is away.
  if (code === 'unreachable') return 'The chat cannot be reached from this page.';
  if (status === 401 || status === 403) return 'This page has no access to the chat just now.';
  return code.startsWith('model_') ? 'There is no answer just now.' : sentence(message);
}

// Whether a tool may run, or what its server wants to know while it does.
function Question({ visit, question }: { visit: Visit; question: ToolBlock }) {
  const { tool, args, wanted } = question;
  if (wanted) {
    const give = (output?: string) => visit.answer(question, output === undefined ? 'deny' : 'output', output);
    return <Wanted tool={tool} text={wanted.text} schema={wanted.schema} give={give} />;
  }
  return (
    <div class="question" role="group" aria-label={`May ${tool} run?`}>
      <p>May I use <b>{tool}</b>?</p>
      <AskedArguments text={args} />
      <div class="permission-actions">
        <button type="button" class="solid" onClick={() => void visit.answer(question, 'once')}>Allow</button>
        <button type="button" class="plain" onClick={() => void visit.answer(question, 'deny')}>Deny</button>
      </div>
    </div>
  );
}

const kParts: MarkdownParts = {
  code: ({ code }) => <pre tabIndex={0}><code>{code.slice(0, 100_000)}</code></pre>,
  formula: ({ tex }) => <code class="formula">{tex}</code>,
};

const kOutcomes: Record<string, string> = { ok: 'was used', denied: 'was not allowed', interrupted: 'was interrupted' };

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, index) => {
        if (block.kind === 'text') return <Prose key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind !== 'tool' || block.asked) return null;
        return (
          <p key={index} class="tool">
            <Icon name="tool" size={14} /> {block.tool} {block.outcome ? (kOutcomes[block.outcome] ?? 'failed') : 'is being used…'}
          </p>
        );
      })}
    </>
  );
}

function Prose({ text, streaming }: { text: string; streaming: boolean }) {
  const markdown = useRef<MarkdownText>(null);
  markdown.current ??= new MarkdownText(kParts);
  return <div class="prose">{markdown.current.render(text, streaming)}</div>;
}

function Field({ visit, placeholder, focus }: { visit: Visit; placeholder: string; focus: boolean }) {
  const [text, setText] = useState('');
  const field = useRef<HTMLTextAreaElement>(null);
  // Sent before the conversation is there, or before an answer has ended: it goes when it can, unless it is changed.
  const [waits, setWaits] = useState(false);
  const busy = visit.live.value !== undefined;
  const ready = !busy && visit.state.value === 'ready';
  useLayoutEffect(() => {
    if (focus) field.current?.focus();
  }, []);
  const send = () => {
    // Not `text`: somebody may be quicker than the next drawing.
    const said = field.current!.value.trim();
    if (!said) return;
    setWaits(!ready);
    if (!ready) return;
    setText('');
    void visit.say(said);
  };
  useEffect(() => {
    if (waits && ready) send();
  }, [waits, ready]);
  return (
    <form onSubmit={(event) => (event.preventDefault(), send())}>
      <textarea
        ref={field}
        rows={Math.min(5, text.split('\n').length)}
        value={text}
        dir="auto"
        placeholder={placeholder}
        aria-label="Message"
        onInput={(event) => {
          setText(event.currentTarget.value);
          setWaits(false);
        }}
        onKeyDown={(event) => {
          if (event.key === 'Enter' && !event.shiftKey && !event.isComposing) {
            event.preventDefault();
            send();
          }
        }}
      />
      {busy ? (
        <button type="button" class="round" aria-label="Stop" onClick={() => visit.stop()}><Icon name="stop" /></button>
      ) : (
        <button type="submit" class="round" aria-label="Send" disabled={!text.trim()}><Icon name="send" /></button>
      )}
    </form>
  );
}
