// What was said and is held to be true; what it took the place of is folded below it.
import { useState } from 'preact/hooks';
import type { Collection, Fact } from '../../shared/client.ts';
import { Icon } from '../../shared/icons.tsx';
import { ask } from '../dialogs.tsx';
import { trying } from '../state/place.ts';
import { say } from '../state/toasts.ts';
import { addFact, facts, forgetCollection, forgetFact } from './calls.ts';
import { factLines } from './fact_lines.ts';
import { Nothing, useLoaded, Waiting } from './loaded.tsx';
import { agentName, dayOf, SourceLink, Whose } from './parts.tsx';

export function FactList({ collections, changed }: { collections: Collection[]; changed: () => void }) {
  const ids = collections.map(({ id }) => id);
  const loaded = useLoaded(async () => (await Promise.all(ids.map(facts))).flat(), [ids.join()]);
  const writable = new Set(collections.filter((one) => one.writable).map(({ id }) => id));
  const { now, ended } = factLines(loaded.value ?? []);
  const forget = async (fact: Fact) => {
    const yes = await ask({
      title: 'Forget this?',
      text: `“${fact.text}” is erased from memory, and from what was kept of prompts that held it. The message that said it stays.`,
      action: 'Forget',
      danger: true,
    });
    if (!yes) return;
    await forgetFact(fact);
    await loaded.again();
    say('Forgotten.');
  };
  const line = (fact: Fact) => <FactCard key={fact.id} fact={fact} forget={writable.has(fact.collection) ? () => trying(forget(fact)) : undefined} />;
  return (
    <section aria-label="Facts">
      <AddFact added={() => loaded.again().then(changed)} />
      <Waiting what="facts" loaded={loaded}>
        {now.length + ended.length === 0 && (
          <Nothing title="Nothing is remembered yet.">
            Write above what agents should know of you. What was said in conversations that have ended is among the episodes.
          </Nothing>
        )}
        <ul class="cards">
          {now.map(({ fact, before }) => (
            <FactCard key={fact.id} fact={fact} forget={writable.has(fact.collection) ? () => trying(forget(fact)) : undefined}>
              {before.length > 0 && (
                <details class="folded">
                  <summary>{before.length === 1 ? 'Something else was true before' : `${before.length} others were true before`}</summary>
                  <ul class="earlier">{before.map(line)}</ul>
                </details>
              )}
            </FactCard>
          ))}
        </ul>
        {ended.length > 0 && (
          <details class="folded">
            <summary>{ended.length} no longer true</summary>
            <ul class="cards">{ended.map(line)}</ul>
          </details>
        )}
        <ForgetAll collections={collections} done={() => loaded.again().then(changed)} />
      </Waiting>
    </section>
  );
}

function FactCard({ fact, forget, children }: { fact: Fact; forget?: () => void; children?: preact.ComponentChildren }) {
  const past = fact.valid_until !== undefined;
  return (
    <li class={past ? 'past' : ''}>
      <p>{fact.text}</p>
      <p class="facts-line">
        <span>{past ? `true ${dayOf(fact.valid_from)} to ${dayOf(fact.valid_until!)}` : `true since ${dayOf(fact.valid_from)}`}</span>
        {(fact.sources ?? []).slice(0, 3).map((message) => (
          <SourceLink key={message} message={message} />
        ))}
        {!fact.sources?.length && fact.writer && <span>{writerWords(fact.writer)}</span>}
        <Whose collection={fact.collection} />
      </p>
      {forget && (
        <button type="button" class="icon-button corner" aria-label={`Forget: ${fact.text.slice(0, 60)}`} title="Forget" onClick={forget}>
          <Icon name="trash" size={16} />
        </button>
      )}
      {children}
    </li>
  );
}

// Who wrote it, as "user:ana" or "agent:default".
function writerWords(writer: string): string {
  const [kind, name] = [writer.split(':', 1)[0], writer.slice(writer.indexOf(':') + 1)];
  return kind === 'user' ? 'told by you' : kind === 'agent' ? `noted by ${agentName(name)}` : `written by ${name}`;
}

function AddFact({ added }: { added: () => Promise<void> }) {
  const [text, setText] = useState('');
  const add = async () => {
    const { known, superseded } = await addFact(text.trim());
    setText('');
    await added();
    if (known) say('That was known already.');
    else if (superseded?.length) say('Noted, in the place of what was true before.');
  };
  return (
    <form class="one-line" onSubmit={(event) => (event.preventDefault(), text.trim() && trying(add()))}>
      <input value={text} maxLength={1000} placeholder="Something to remember: I live in Porto" aria-label="Something to remember" onInput={(event) => setText(event.currentTarget.value)} />
      <button type="submit" class="plain" disabled={!text.trim()}>
        Remember
      </button>
    </form>
  );
}

function ForgetAll({ collections, done }: { collections: Collection[]; done: () => Promise<void> }) {
  const own = collections.filter(({ id, writable, items }) => writable && items > 0 && /^user(\.|$)/.test(id));
  if (own.length === 0) return null;
  const items = own.reduce((sum, one) => sum + one.items, 0);
  const forget = async () => {
    const yes = await ask({
      title: 'Forget everything?',
      text: `All ${items} items that are remembered of you are erased: facts, and what was read of your documents. Conversations and what is shared with others stay.`,
      action: 'Forget everything',
      danger: true,
    });
    if (!yes) return;
    for (const { id } of own) await forgetCollection(id);
    await done();
    say('Everything is forgotten.');
  };
  return (
    <p class="forget-all">
      <button type="button" class="plain danger" onClick={() => trying(forget())}>
        Forget everything
      </button>
    </p>
  );
}
