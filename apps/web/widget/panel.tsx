import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import type { Block } from '../shared/blocks.ts';
import { MarkdownText, type MarkdownParts } from '../shared/markdown.ts';
import { openQuestions } from '../shared/turn_state.ts';
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
  useEffect(() => {
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
        </div>
      ))}
      {live && (
        <div class="line agent">
          <Blocks blocks={live.blocks} />
          {openQuestions(live).map((question) => (
            <div key={question.call} class="question" role="group" aria-label={`May ${question.tool} run?`}>
              <p>May I use <b>{question.tool}</b>?</p>
              <pre tabIndex={0}>{question.args.slice(0, 2000)}</pre>
              <span>
                <button type="button" class="solid" onClick={() => visit.answer(question.call!, 'once')}>Allow</button>
                <button type="button" class="quiet" onClick={() => visit.answer(question.call!, 'deny')}>Deny</button>
              </span>
            </div>
          ))}
          {!(last?.kind === 'text' && last.open) && openQuestions(live).length === 0 && (
            <p class="dots" aria-label="The answer is being written"><i /><i /><i /></p>
          )}
        </div>
      )}
      {problem && (
        <div class="problem" role="alert">
          {/* A browser does not tell a page that it was refused from a server that is away. */}
          <p>{problem.code === 'unreachable' ? 'The chat cannot be reached from this page.' : problem.message}</p>
          <button type="button" class="solid" onClick={() => void visit.again()}>Try again</button>
        </div>
      )}
    </div>
  );
}

const kParts: MarkdownParts = {
  code: ({ code }) => <pre tabIndex={0}><code>{code.slice(0, 100_000)}</code></pre>,
  formula: ({ tex }) => <code class="formula">{tex}</code>,
};

function Blocks({ blocks }: { blocks: readonly Block[] }) {
  return (
    <>
      {blocks.map((block, index) => {
        if (block.kind === 'text') return <Prose key={index} text={block.text} streaming={!!block.open} />;
        if (block.kind !== 'tool' || block.asked) return null;
        return (
          <p key={index} class="tool">
            <Icon name="tool" size={14} /> {block.tool} {block.outcome ? (block.outcome === 'ok' ? 'was used' : `: ${block.outcome}`) : 'is being used…'}
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
  useEffect(() => {
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
