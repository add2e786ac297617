// What one model call was shown, and what it was not shown and why: the receipt, as a picture.
import { useEffect, useState } from 'preact/hooks';
import type { Receipt, ReceiptItem, TertuliaError, Tier } from '../shared/client.ts';
import { textOf } from '../shared/blocks.ts';
import { sameModel } from '../shared/model_names.ts';
import { shortCount } from '../shared/words.ts';
import { shownTurn } from './inspector.tsx';
import type { Conversation } from './state/conversation.ts';
import { currentAgent } from './state/models.ts';
import { namedItem } from './state/recalled.ts';
import { agents, asking, server } from './state/server.ts';

const kTiers: { tier: Tier; name: string; what: string }[] = [
  { tier: 'system', name: 'Instructions', what: 'who the agent is' },
  { tier: 'tools', name: 'Tools', what: 'what it may use' },
  { tier: 'procedure', name: 'Procedures', what: 'how things are done' },
  { tier: 'knowledge', name: 'Knowledge', what: 'facts and documents' },
  { tier: 'episode', name: 'Episodes', what: 'earlier conversations' },
  { tier: 'history', name: 'History', what: 'of this conversation' },
  { tier: 'current', name: 'Message', what: 'what was just said' },
];

const kReasons: Record<string, string> = {
  fits: 'there was room',
  pinned: 'always stays',
  min_history: 'the least history that is kept',
  budget: 'no room left',
  window: 'outside the window',
  summarised: 'a summary stands for it',
  elided: 'an old tool result, shortened',
  low_score: 'not near enough',
  tier_limit: 'beyond what its kind may have',
  filtered: 'left out by policy',
  duplicate: 'already there elsewhere',
};

export function ContextPanel({ here }: { here: Conversation }) {
  const running = here.running();
  const turn = shownTurn.value ?? running?.turn.turn ?? here.at(here.total.value - 1)?.turn;
  const live = running?.turn.turn === turn ? running?.turn.receipts : undefined;
  const [read, setRead] = useState<{ turn: string; receipts: Receipt[] }>();
  const [problem, setProblem] = useState<TertuliaError>();
  const [call, setCall] = useState<number>();
  useEffect(() => {
    setCall(undefined);
    setProblem(undefined);
    if (!turn || live) return;
    asking(server.receipts(here.id, turn)).then(({ receipts }) => setRead({ turn, receipts }), setProblem);
  }, [turn, !live, here.total.value]);
  const receipts = live ?? (read?.turn === turn ? read?.receipts : undefined);
  if (!turn) return <p class="hint">After the first answer, this shows what the model was given: every part, what it cost, and what was left out.</p>;
  if (problem) return <p class="hint">{problem.message}</p>;
  if (!receipts) return <p class="hint" aria-busy="true">Reading…</p>;
  const receipt = receipts[call ?? receipts.length - 1];
  const own = turn === running?.turn.turn ? currentAgent()?.model : ownModel(here, turn);
  if (!receipt) return <p class="hint">Nothing was noted about what the model was shown in this turn.</p>;
  return (
    <div class="context">
      {receipts.length > 1 && (
        <div class="calls" role="group" aria-label="Model calls of this turn">
          {receipts.map((_, index) => (
            <button key={index} type="button" aria-pressed={receipts[index] === receipt} onClick={() => setCall(index)}>
              Call {index + 1}
            </button>
          ))}
        </div>
      )}
      <Budget receipt={receipt} />
      {kTiers.map(({ tier, name, what }) => (
        <TierList key={tier} here={here} tier={tier} name={name} what={what} items={(receipt.items ?? []).filter((item) => item.tier === tier)} />
      ))}
      <p class="hint">
        {receipt.model && (
          <>
            Model {receipt.model}
            {own !== undefined && !sameModel(receipt.model, own) && <>, chosen in place of the agent's own ({own})</>}.{' '}
          </>
        )}
        Tokens are {receipt.exact ? 'counted exactly' : 'an estimate'}
        {receipt.exact && receipt.tokenizer && <> ({receipt.tokenizer})</>}.
        {!!receipt.shared_prefix && <> {Math.round(receipt.shared_prefix * 100)} % begins as the call before did, and can come from the provider's cache.</>}
      </p>
    </div>
  );
}

// The model of the agent that answered in a turn; unknown if it is not on the page, or not configured any more.
function ownModel(here: Conversation, turn: string): string | undefined {
  for (let index = here.total.value - 1; index >= 0; --index) {
    const message = here.at(index);
    if (message?.turn !== turn || message.role !== 'assistant') continue;
    return agents.value.find((agent) => (agent.name || agent.id) === message.author)?.model;
  }
  return undefined;
}

function Budget({ receipt }: { receipt: Receipt }) {
  const inTier = (tier: Tier) =>
    (receipt.items ?? []).filter((item) => item.tier === tier && item.fate !== 'dropped').reduce((sum, item) => sum + item.tokens, 0);
  const room = Math.max(receipt.budget, receipt.total, 1);
  return (
    <figure class="budget">
      <figcaption>
        <b>{receipt.total.toLocaleString()}</b> of {receipt.budget.toLocaleString()} tokens
        <small>{((100 * receipt.total) / room).toFixed(receipt.total / room < 0.1 ? 1 : 0)} % used</small>
      </figcaption>
      <div class="bar" role="img" aria-label={`${receipt.total} of ${receipt.budget} tokens are used`}>
        {kTiers.map(({ tier, name }) => {
          const tokens = inTier(tier);
          const wide = { width: `max(${(100 * tokens) / room}%, 3px)` };
          return tokens > 0 && <span key={tier} data-tier={tier} style={wide} title={`${name}: ${tokens} tokens`} />;
        })}
        {!!receipt.output_reserve && (
          <span class="reserve" style={{ width: `${(100 * receipt.output_reserve) / room}%` }} title={`Kept for the answer: ${receipt.output_reserve} tokens`} />
        )}
      </div>
    </figure>
  );
}

const kShown = 12;

function TierList({ here, tier, name, what, items }: { here: Conversation; tier: Tier; name: string; what: string; items: ReceiptItem[] }) {
  if (items.length === 0) return null;
  const kept = items.filter((item) => item.fate !== 'dropped');
  const dropped = items.filter((item) => item.fate === 'dropped');
  const tokens = kept.reduce((sum, item) => sum + item.tokens, 0);
  // Said once, if it is the same for all.
  const told = new Set(dropped.map(reasonOf)).size === 1 ? reasonOf(dropped[0]!) : undefined;
  return (
    <section class="tier">
      <h2>
        <span class="dot" data-tier={tier} />
        {name} <small>{what}</small>
        <span class="space" />
        {shortCount(tokens)}
      </h2>
      <Items here={here} items={kept} />
      {dropped.length > 0 && (
        <details class="dropped" open={kept.length === 0 && dropped.length <= 3}>
          <summary>
            {kept.length === 0 && dropped.length > 1 ? `All ${dropped.length}` : dropped.length} left out
            {told && `: ${told}`}
          </summary>
          <Items here={here} items={dropped} told={told} />
        </details>
      )}
    </section>
  );
}

const reasonOf = (item: ReceiptItem): string => kReasons[item.reason] ?? item.reason;

function Items({ here, items, told }: { here: Conversation; items: ReceiptItem[]; told?: string }) {
  const [all, setAll] = useState(false);
  const shown = all ? items.slice(0, 500) : items.slice(-kShown);
  return (
    <>
      <ul>
        {shown.map((item, index) => (
          <Item key={index} here={here} item={item} told={told} />
        ))}
      </ul>
      {!all && items.length > kShown && (
        <button type="button" class="more" onClick={() => setAll(true)}>
          Show all {items.length}
        </button>
      )}
    </>
  );
}

function Item({ here, item, told }: { here: Conversation; item: ReceiptItem; told?: string }) {
  const recalled = item.tier === 'knowledge' || item.tier === 'episode';
  const named = recalled ? namedItem(item) : undefined;
  const reason = item.fate === 'kept' && item.reason === 'fits' ? '' : reasonOf(item);
  const why = [item.tier === 'history' && item.more && `and ${item.more} more`, reason !== told && reason, item.score && `score ${item.score.toFixed(2)}`].filter(Boolean).join(' · ');
  return (
    <li data-fate={item.fate} class={recalled ? 'recalled' : ''}>
      <span class="item-name" dir="auto" title={named?.words}>
        {recalled ? (named?.words ?? '…') : nameOf(here, item)}
      </span>
      <span class="item-tokens">{item.tokens}</span>
      {(named || why) && (
        <span class="item-why">
          {named?.address ? <a href={named.address}>{named.from}</a> : named?.from}
          {named && why && ' · '}
          {why}
        </span>
      )}
    </li>
  );
}

// A receipt holds ids only, of messages, of whole turns, or of the turn from which on everything is there ("from:…"). What is
// on the page is shown by its first words.
function nameOf(here: Conversation, item: ReceiptItem): string {
  if (item.tier === 'tools' && item.id === 'tools') return item.more ? `${item.more + 1} tools` : 'one tool';
  if (item.tier !== 'history' && item.tier !== 'current') return item.id;
  if (item.id.startsWith('from:')) return `from “${nameOf(here, { ...item, id: item.id.slice(5) })}” on`;
  for (let index = here.total.value - 1; index >= 0 && index >= here.total.value - 200; --index) {
    const message = here.at(index);
    const meant = message?.id === item.id || (message?.turn === item.id && message.role === 'user');
    if (message && meant) return textOf(message).slice(0, 80) || message.role;
  }
  const live = item.tier === 'current' ? here.running()?.said : undefined;
  return live?.slice(0, 80) || item.id;
}
