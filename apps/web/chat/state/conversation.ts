// One conversation on the screen: the messages that have been read, and the turns that are going on.
//
// Messages are addressed by their index in the branch and read as they come into sight, so that a conversation of
// 10,000 messages opens like one of 100. Turns that are going on follow their stream, whoever began them.
import { batch, computed, signal } from '@preact/signals';
import {
  TertuliaError,
  type Branch,
  type Choice,
  type Message,
  type MessagePage,
  type Part,
  type Session,
  type TurnsInProgress,
  type TurnStream,
} from '../../shared/client.ts';
import { saidOf } from '../../shared/blocks.ts';
import { applyEvent, finishWords, newTurn, type LiveTurn } from '../../shared/turn_state.ts';
import { chosenModel } from './models.ts';
import { asking, noteFailure, reachable, server } from './server.ts';
import { noteSession } from './session_list.ts';
import { settings } from './settings.ts';
import { tellOtherTabs } from './tabs.ts';

export interface Exchange {
  key: number;
  // What the person said; empty while another place has begun the turn and it is not durable yet.
  said: string;
  files: readonly Part[];
  turn: LiveTurn;
  queued: boolean;
  // Asked for with this message only; '' is the agent's own. None: what the conversation has chosen.
  model?: string;
  problem?: TertuliaError;
}

// The server has begun its turn: it is kept, whatever became of it.
export const wasBegun = (exchange: Exchange): boolean =>
  exchange.turn.turn !== undefined || exchange.problem?.facts['turn'] !== undefined;

// Screens are drawn this often while an answer streams. A reader cannot tell it from more.
const kFrame = 40;
const kPage = 60;
let exchanges = 0;

type Going = TurnsInProgress['running'][number];

// What a turn began with, which is in no history yet.
function begunWith({ input = [] }: Going): Pick<Exchange, 'said' | 'files'> {
  const meant = input.find((message) => message.role === 'user' && !message.internal);
  return meant ? saidOf(meant) : { said: '', files: [] };
}

export class Conversation {
  readonly id: string;
  readonly branch: string;
  readonly session = signal<Session | undefined>(undefined);
  readonly total = signal(0);
  // Rises when messages have come in.
  readonly version = signal(0);
  readonly live = signal<readonly Exchange[]>([]);
  readonly state = signal<'loading' | 'ready' | 'failed'>('loading');
  readonly problem = signal<TertuliaError | undefined>(undefined);
  // A stream was cut and is being looked for again.
  readonly reconnecting = signal(false);
  readonly busy = computed(() => this.running() !== undefined);
  // The key of the exchange whose message is being edited.
  readonly edited = signal<number | undefined>(undefined);
  // What was told beside the answers that this page has seen come, by turn.
  readonly told = new Map<string, readonly string[]>();
  private readonly messages = new Map<number, Message>();
  private readonly loading = new Set<number>();
  private readonly left = new AbortController();
  private checking = false;

  constructor(id: string, branch: string) {
    this.id = id;
    this.branch = branch;
  }

  async open(): Promise<void> {
    try {
      const [session, page] = await asking(
        Promise.all([server.session(this.id), this.lastMessages()]),
      );
      batch(() => {
        this.takeSession(session);
        this.total.value = page.total;
        this.take(page.messages);
        this.state.value = 'ready';
      });
      await this.check();
    } catch (problem) {
      this.problem.value = problem as TertuliaError;
      this.state.value = 'failed';
    }
  }

  private async lastMessages(): Promise<MessagePage> {
    try {
      return await server.messages(this.id, { branch: this.branch, limit: kPage });
    } catch (problem) {
      // A session in which nothing has been said has no branch yet.
      if ((problem as TertuliaError).code !== 'no_branch' || this.branch !== 'main') throw problem;
      return { branch: this.branch, total: 0, messages: [] };
    }
  }

  // A session that was made a moment ago, and of which nothing needs to be read.
  openNew(session: Session): void {
    this.takeSession(session);
    this.state.value = 'ready';
  }

  leave(): void {
    this.left.abort();
  }

  get branches(): readonly Branch[] {
    return this.session.value?.branches ?? [];
  }

  at(index: number): Message | undefined {
    return this.messages.get(index);
  }

  // The tool messages right behind a message.
  resultsOf(index: number): Message[] {
    const results: Message[] = [];
    for (let at = index + 1; this.messages.get(at)?.role === 'tool'; ++at) results.push(this.messages.get(at)!);
    return results;
  }

  // Reads what is missing between two messages, both included.
  ensure(first: number, last: number): void {
    for (let index = Math.max(0, first); index <= last && index < this.total.value; ++index) {
      if (this.messages.has(index)) continue;
      const from = Math.max(0, Math.min(index, last - kPage + 1));
      if (this.loading.has(from)) return;
      this.loading.add(from);
      asking(server.messages(this.id, { branch: this.branch, from, limit: kPage }))
        .then((page) => this.take(page.messages), noteFailure)
        .finally(() => this.loading.delete(from));
      return;
    }
  }

  // Looks for what happened elsewhere: turns that run, turns that a crash left, messages of others.
  async check(): Promise<void> {
    if (this.checking || this.left.signal.aborted) return;
    this.checking = true;
    try {
      const { running, interrupted } = await asking(server.turns(this.id, this.left.signal));
      const known = new Set(this.live.value.map((exchange) => exchange.turn.turn));
      // A turn of our own may be among them whose id has not come back yet.
      const unnamed = this.live.value.some((exchange) => !exchange.turn.turn && !exchange.problem);
      for (const going of running) {
        if (going.branch !== this.branch || unnamed) continue;
        if (known.has(going.turn)) this.fillSaid(going);
        else this.watch(going);
      }
      for (const left of interrupted) {
        if (left.branch === this.branch && !known.has(left.turn) && !unnamed) this.showParked(left);
      }
      if (this.live.value.length === 0) await this.refresh();
    } catch (problem) {
      noteFailure(problem);
    } finally {
      this.checking = false;
    }
  }

  async refresh(): Promise<void> {
    const session = await asking(server.session(this.id));
    const branch = session.branches?.find((other) => other.id === this.branch);
    const before = this.total.value;
    if (branch && branch.messages > before) {
      const page = await asking(server.messages(this.id, { branch: this.branch, from: before, limit: 1000 }));
      batch(() => {
        this.total.value = page.total;
        this.take(page.messages);
      });
    }
    this.takeSession(session);
  }

  // `once` is a model for this message only; '' is the agent's own.
  send(message: string, files: readonly Part[] = [], onBusy: 'reject' | 'queue' = 'reject', once?: string): Promise<void> {
    const exchange = this.begin(message, files, onBusy === 'queue' && this.busy.value, undefined, once);
    const model = once ?? chosenModel(this.id, this.session.value);
    const parts: Part[] = message ? [{ kind: 'text', text: message }, ...files] : [...files];
    const stream = server.send(
      {
        session: this.id,
        branch: this.branch,
        agent: settings.value.agent,
        ...(model && { model }),
        message: files.length ? { parts } : message,
        on_busy: onBusy,
      },
      this.streamOptions(exchange),
    );
    return this.follow(exchange, stream);
  }

  // Goes on with what a crash, a shutdown or an unreachable model has left. If nothing is left of it, the message is
  // sent again: it is not in the history.
  async again(exchange: Exchange): Promise<void> {
    const { said, files, key, model } = exchange;
    const left = (await asking(server.turns(this.id))).interrupted.some((turn) => turn.branch === this.branch);
    if (!left) {
      this.dismiss(key);
      if (said || files.length) await this.send(said, files, 'reject', model);
      return;
    }
    const fresh = this.change(key, { turn: newTurn(), problem: undefined });
    if (!fresh) return;
    const chosen = model ?? chosenModel(this.id, this.session.value);
    await this.follow(fresh, server.resume(this.id, { branch: this.branch, ...(chosen && { model: chosen }) }, this.streamOptions(fresh)));
  }

  // Takes back a message that has no answer. What tools did for it stays in the history.
  async discard({ key, turn, problem }: Exchange): Promise<void> {
    const begun = turn.turn ?? problem?.facts['turn'];
    const { interrupted } = begun === undefined ? { interrupted: [] } : await asking(server.turns(this.id));
    if (interrupted.some((left) => left.turn === begun)) {
      await asking(server.resume(this.id, { branch: this.branch, on_interrupted: 'discard' }).finished());
      await this.refresh();
    }
    this.dismiss(key);
    tellOtherTabs({ session: this.id });
  }

  // Says it in other words: what it was goes, and its files go with the new one.
  async sayInstead(exchange: Exchange, said: string): Promise<void> {
    await this.discard(exchange);
    await this.send(said, exchange.files, 'reject', exchange.model);
  }

  async cancel(): Promise<void> {
    const turn = this.running()?.turn.turn;
    if (turn) await asking(server.cancel(this.id, turn));
  }

  async steer(message: string): Promise<void> {
    const turn = this.running()?.turn.turn;
    if (!turn) throw new TertuliaError('no_turn', 'The answer is complete; nothing is left to steer.');
    await asking(server.steer(this.id, turn, message));
  }

  async answer(turn: string, call: number | string, choice: Choice, output?: string): Promise<void> {
    try {
      await asking(server.answer(this.id, turn, call, choice, output === undefined ? undefined : { output }));
    } catch (problem) {
      // Somebody was quicker, in another tab perhaps. The stream tells what they said.
      if ((problem as TertuliaError).code !== 'no_question') throw problem;
    }
  }

  dismiss(key: number): void {
    this.live.value = this.live.value.filter((exchange) => exchange.key !== key);
  }

  running(): Exchange | undefined {
    return this.live.value.find((exchange) => !exchange.queued && !exchange.problem);
  }

  private watch(going: Going): void {
    const { said, files } = begunWith(going);
    const exchange = this.begin(said, files, false, going.turn);
    const stream = server.watch(this.id, going.turn, { branch: this.branch }, this.streamOptions(exchange));
    void this.follow(exchange, stream);
  }

  // A turn may be found before what began it is durable.
  private fillSaid(going: Going): void {
    const known = this.live.value.find((exchange) => exchange.turn.turn === going.turn);
    if (known && !known.said && known.files.length === 0) this.change(known.key, begunWith(going));
  }

  private showParked(left: TurnsInProgress['interrupted'][number]): void {
    const { turn } = left;
    const { said, files } = begunWith(left);
    const exchange = this.begin(said, files, false, turn);
    const { code, message } = left.cause ?? { code: 'turn_interrupted', message: 'This answer was interrupted before it was complete.' };
    const problem = new TertuliaError(code, message, 0, { turn });
    this.change(exchange.key, { problem });
  }

  private begin(said: string, files: readonly Part[], queued: boolean, turn?: string, model?: string): Exchange {
    const exchange: Exchange = { key: ++exchanges, said, files, turn: newTurn(turn), queued, ...(model !== undefined && { model }) };
    this.live.value = [...this.live.value.filter((other) => !other.problem || other.said !== said), exchange];
    return exchange;
  }

  private change(key: number, change: Partial<Exchange>): Exchange | undefined {
    let changed: Exchange | undefined;
    this.live.value = this.live.value.map((exchange) =>
      exchange.key === key ? (changed = { ...exchange, ...change }) : exchange,
    );
    return changed;
  }

  private streamOptions(exchange: Exchange) {
    return {
      signal: this.left.signal,
      onConnection: (state: 'connecting' | 'open' | 'lost') => {
        this.reconnecting.value = state === 'lost';
        if (state !== 'connecting') reachable.value = state === 'open';
      },
      onTurn: (turn: string) => {
        const current = this.live.value.find((other) => other.key === exchange.key);
        if (current && current.turn.turn !== turn) this.change(exchange.key, { turn: { ...current.turn, turn } });
        tellOtherTabs({ session: this.id });
      },
    };
  }

  private async follow(exchange: Exchange, stream: TurnStream): Promise<void> {
    let turn = this.live.value.find((other) => other.key === exchange.key)?.turn ?? exchange.turn;
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      this.change(exchange.key, { turn, queued: false });
    };
    try {
      for await (const event of stream) {
        turn = applyEvent(turn, event);
        drawing ||= window.setTimeout(draw, kFrame);
      }
      clearTimeout(drawing);
      draw();
      const cut = finishWords(stream.outcome?.finish);
      if (turn.turn) this.told.set(turn.turn, [...turn.warnings, ...(cut ? [cut] : [])]);
      await this.settle(exchange.key);
    } catch (problem) {
      clearTimeout(drawing);
      if (this.left.signal.aborted) return;
      draw();
      if (problem instanceof TertuliaError && (problem.code === 'stream_gone' || problem.code === 'no_turn')) {
        await this.settle(exchange.key);
        return;
      }
      this.reconnecting.value = false;
      this.change(exchange.key, { problem: noteFailure(problem), queued: false });
      tellOtherTabs({ session: this.id });
    }
  }

  // The turn is in the history: its messages take the place of what was streamed, in one step, so that nothing jumps.
  private async settle(key: number): Promise<void> {
    const session = await asking(server.session(this.id));
    const page = await asking(server.messages(this.id, { branch: this.branch, from: this.total.value, limit: 1000 }));
    batch(() => {
      this.total.value = page.total;
      this.take(page.messages);
      this.takeSession(session);
      this.dismiss(key);
      // What had failed before it was tried once more, and is in the history with or without an answer.
      this.live.value = this.live.value.filter((other) => !other.problem || !wasBegun(other));
    });
    tellOtherTabs({ session: this.id });
  }

  private take(messages: readonly Message[]): void {
    for (const message of messages) this.messages.set(message.index, message);
    this.version.value += 1;
  }

  private takeSession(session: Session): void {
    if (session.revision === this.session.value?.revision && this.session.value.branches) return;
    this.session.value = session;
    const { branches: _, ...listed } = session;
    noteSession(listed);
  }
}
