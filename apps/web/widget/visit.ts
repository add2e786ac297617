// A visit: the conversation of one visitor of a host page with one agent. It is kept by its session id, which the host gives,
// or which the browser remembers for the host's origin.
import { batch, signal } from '@preact/signals';
import { blocksOf, saidOf, textOf, type Block, type ToolBlock } from '../shared/blocks.ts';
import { freshKey, Tertulia, TertuliaError, type Choice, type Message, type TurnsInProgress, type TurnStream } from '../shared/client.ts';
import { asText, keep, ownStorage, readKept } from '../shared/storage.ts';
import { applyEvent, finishWords, newTurn, type LiveTurn } from '../shared/turn_state.ts';
import { titleFrom } from '../shared/words.ts';

export interface VisitOptions {
  server: string;
  agent: string;
  // Stable, from the host; absent: the browser keeps one.
  session?: string;
}

export interface Line {
  id: string;
  who: 'visitor' | 'agent';
  text: string;
  blocks: readonly Block[];
  interrupted?: boolean;
  note?: string;
  // Nothing was said to it.
  unanswered?: boolean;
}

const kFrame = 40;

export class Visit {
  readonly lines = signal<readonly Line[]>([]);
  readonly live = signal<LiveTurn | undefined>(undefined);
  readonly state = signal<'idle' | 'loading' | 'ready'>('idle');
  readonly problem = signal<TertuliaError | undefined>(undefined);
  readonly reconnecting = signal(false);
  readonly session: string;
  // A key for visitors, or a token that the host's server has asked for. The host may renew it at any time.
  token: string | undefined;
  private readonly server: Tertulia;
  private readonly left = new AbortController();
  private last = '';
  // What the last request was made with.
  private used: string | undefined;

  constructor(
    private readonly options: VisitOptions,
    private readonly tell: (name: string, detail: Record<string, unknown>) => void,
  ) {
    this.server = new Tertulia({ base: options.server, key: () => (this.used = this.token) });
    const key = `tertulia.visit.${options.agent}`;
    const kept = readKept(ownStorage, key, asText);
    const usable = kept && /^[A-Za-z0-9_-]{1,128}$/.test(kept) ? kept : undefined;
    this.session = options.session || usable || freshKey();
    if (!options.session && this.session !== kept) keep(ownStorage, key, this.session);
  }

  // A visitor who was turned away for want of a token is let in with a new one.
  renew(token: string | undefined): void {
    this.token = token;
    if (token && this.problem.value?.status === 401) void this.again();
  }

  // Shows what was said before, and goes on with an answer that is under way.
  async open(): Promise<void> {
    if (this.state.value !== 'idle') return;
    this.state.value = 'loading';
    try {
      await this.read();
      const { running, interrupted } = await this.server.turns(this.session);
      this.state.value = 'ready';
      this.tell('ready', { session: this.session });
      const turn = running.find((other) => other.branch === 'main')?.turn;
      const left = interrupted.find((other) => other.branch === 'main');
      if (!turn && left) return this.showLeft(left);
      if (turn) await this.follow(this.server.watch(this.session, turn, { branch: 'main' }, this.streamOptions()));
    } catch (problem) {
      // A visitor who has not said anything yet has no session.
      const fresh = problem instanceof TertuliaError && (problem.code === 'no_session' || problem.code === 'no_branch');
      if (!fresh) return this.fail(problem);
      this.state.value = 'ready';
      this.tell('ready', { session: this.session });
    }
  }

  async say(text: string): Promise<void> {
    if (this.live.value && this.live.value.status !== 'failed') return;
    this.last = text;
    batch(() => {
      this.problem.value = undefined;
      this.lines.value = [...this.lines.value, { id: `said-${this.lines.value.length}`, who: 'visitor', text, blocks: [] }];
    });
    this.tell('message', { text });
    const { session, options } = this;
    if (this.lines.value.length === 1) await this.name(text);
    await this.follow(this.server.send({ session, agent: options.agent, message: text }, this.streamOptions()));
  }

  // So that whoever looks after the conversations finds it in the list. Nothing depends on it.
  private async name(text: string): Promise<void> {
    await this.server.createSession({ id: this.session, metadata: { title: titleFrom(text), channel: 'widget' } }).catch(() => {});
  }

  async again(): Promise<void> {
    if (this.state.value !== 'ready') {
      this.problem.value = undefined;
      this.state.value = 'idle';
      return this.open();
    }
    this.problem.value = undefined;
    let interrupted;
    try {
      ({ interrupted } = await this.server.turns(this.session));
    } catch (problem) {
      // A session that was never begun has nothing to go on with. Otherwise nobody knows: the message may stand.
      if (!(problem instanceof TertuliaError) || problem.code !== 'no_session') return this.fail(problem);
      interrupted = [];
    }
    if (interrupted.length > 0) return this.follow(this.server.resume(this.session, {}, this.streamOptions()));
    this.lines.value = this.lines.value.slice(0, -1);
    return this.say(this.last);
  }

  // A message that has no answer yet, and why.
  private showLeft({ cause, input = [] }: TurnsInProgress['interrupted'][number]): void {
    const said = input.filter((message) => message.role === 'user' && !message.internal).map((message) => saidOf(message).said).join('\n');
    this.last = said;
    const words = cause ?? { code: 'turn_interrupted', message: 'the answer was interrupted before it was complete' };
    batch(() => {
      this.lines.value = [...this.lines.value, { id: 'left', who: 'visitor', text: said, blocks: [] }];
      this.problem.value = new TertuliaError(words.code, words.message, 0);
    });
  }

  // Takes back the message that has no answer.
  async discard(): Promise<void> {
    this.problem.value = undefined;
    try {
      const { interrupted } = await this.server.turns(this.session);
      if (interrupted.some((other) => other.branch === 'main')) {
        await this.server.resume(this.session, { branch: 'main', on_interrupted: 'discard' }).finished();
      }
      await this.read();
    } catch (problem) {
      // Of a conversation that was never begun nothing is left.
      const fresh = problem instanceof TertuliaError && (problem.code === 'no_session' || problem.code === 'no_branch');
      if (!fresh) return this.fail(problem);
      this.lines.value = [];
    }
  }

  stop(): void {
    const turn = this.live.value?.turn;
    if (turn) this.server.cancel(this.session, turn).catch((problem) => this.fail(problem));
  }

  // What a call wants to know is asked in parts, and answered with JSON.
  async answer({ call, wanted }: ToolBlock, choice: Choice, output?: string): Promise<void> {
    const turn = this.live.value?.turn;
    if (!turn || call === undefined) return;
    const place = wanted ? `${call}.${wanted.part}` : call;
    try {
      await this.server.answer(this.session, turn, place, choice, output === undefined ? undefined : { output });
    } catch (problem) {
      // Somebody was quicker, in another tab perhaps. The stream tells what they said.
      if (!(problem instanceof TertuliaError) || problem.code !== 'no_question') this.fail(problem);
    }
  }

  leave(): void {
    this.left.abort();
  }

  private streamOptions() {
    return {
      signal: this.left.signal,
      onConnection: (state: string) => {
        this.reconnecting.value = state === 'lost';
      },
    };
  }

  private async follow(stream: TurnStream): Promise<void> {
    let turn = newTurn();
    let drawing = 0;
    const draw = () => {
      drawing = 0;
      this.live.value = turn;
    };
    draw();
    try {
      for await (const event of stream) {
        turn = applyEvent(turn, event);
        drawing ||= window.setTimeout(draw, kFrame);
      }
      clearTimeout(drawing);
      await this.read();
      const cut = finishWords(stream.outcome?.finish);
      if (cut) this.lines.value = this.lines.value.map((line, index, all) => (index === all.length - 1 ? { ...line, note: cut } : line));
      this.tell('answer', { text: stream.outcome?.text ?? '' });
    } catch (problem) {
      clearTimeout(drawing);
      if (!this.left.signal.aborted) this.fail(problem);
    }
  }

  private async read(): Promise<void> {
    const { messages } = await this.server.messages(this.session, { branch: 'main', limit: 100 });
    batch(() => {
      this.lines.value = linesOf(messages);
      this.live.value = undefined;
    });
  }

  private fail(problem: unknown): void {
    const error = problem instanceof TertuliaError ? problem : new TertuliaError('page_error', String(problem));
    // The host may have given a token while the request without it was under way.
    const late = error.status === 401 && this.token !== undefined && this.token !== this.used;
    batch(() => {
      this.problem.value = error;
      this.live.value = undefined;
      this.reconnecting.value = false;
    });
    if (late) void this.again();
    else this.tell('error', { code: error.code, message: error.message });
  }
}

export function linesOf(messages: readonly Message[]): Line[] {
  const lines: Line[] = [];
  messages.forEach((message, index) => {
    if (message.internal) return;
    if (message.role === 'user') {
      lines.push({ id: message.id, who: 'visitor', text: textOf(message), blocks: [], unanswered: message.unanswered !== undefined });
    } else if (message.role === 'assistant') {
      let end = index + 1;
      while (messages[end]?.role === 'tool') ++end;
      const blocks = blocksOf(message, messages.slice(index + 1, end));
      lines.push({ id: message.id, who: 'agent', text: textOf(message), blocks, interrupted: message.interrupted ?? false });
    }
  });
  return lines;
}
