// A TurnStream: the events of a turn, whatever happens to the connection.
//
// When the connection breaks, the stream comes back behind the last event it has handed out: no gap, no
// duplicate. It gives up only when the server says that there is nothing more to come, or when it is aborted.
// Leaving it stops nothing at the server.
import { errorFrom, TertuliaError } from './error.ts';
import { readFrames } from './sse.ts';
import type { TurnEvent, TurnOutcome } from './types.ts';

export type Connection = 'connecting' | 'open' | 'lost';

export interface StreamOptions {
  signal?: AbortSignal;
  onConnection?: (state: Connection) => void;
  // The turn, as soon as it is known.
  onTurn?: (turn: string, session: string) => void;
  // Milliseconds before attempt n = 1, 2, … to come back. Default: 250 ms, doubled up to 4 s, each with a
  // little chance, so that many readers do not come back at once.
  backoff?: (attempt: number) => number;
  // Milliseconds without a sign of life after which a connection is taken for lost, as after a night's sleep. The server gives
  // one every 15 seconds. Default: 45 seconds.
  silence?: number;
}

// Where the stream is read: `first` begins it; `again` reads on behind an event.
export interface StreamSource {
  first: (signal: AbortSignal | undefined) => Promise<Response>;
  again: (turn: string, session: string, after: number | undefined, signal: AbortSignal | undefined) => Promise<Response>;
  // Known from the beginning when a turn is watched.
  turn?: string;
  session?: string;
  after?: number;
}

const usualBackoff = (attempt: number) => Math.min(4000, 250 * 2 ** (attempt - 1)) * (0.75 + Math.random() / 2);

// Also of a run of a workflow: `turn` is then the run.
export class TurnStream<Outcome = TurnOutcome> implements AsyncIterable<TurnEvent> {
  turn: string | undefined;
  session: string | undefined;
  // Set when the stream has come to its end.
  outcome: Outcome | undefined;
  private last: number | undefined;

  constructor(
    private readonly source: StreamSource,
    private readonly options: StreamOptions = {},
  ) {
    this.turn = source.turn;
    this.session = source.session;
    this.last = source.after;
  }

  // Reads to the end. Throws what made the turn fail.
  async finished(): Promise<Outcome> {
    for await (const _ of this);
    return this.outcome!;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<TurnEvent> {
    const { signal, onConnection, backoff = usualBackoff, silence = 45_000 } = this.options;
    for (let attempt = 0; ; ) {
      onConnection?.(attempt === 0 ? 'connecting' : 'lost');
      try {
        const response = await this.open();
        onConnection?.('open');
        for await (const frame of readFrames(response.body!, silence)) {
          if (frame.event === 'outcome') {
            this.outcome = JSON.parse(frame.data) as Outcome;
            return;
          }
          if (frame.event === 'failed') throw errorFrom(JSON.parse(frame.data), 200);
          const event = JSON.parse(frame.data) as TurnEvent;
          if (this.last !== undefined && event.number <= this.last) continue;
          this.last = event.number;
          attempt = 0;
          yield event;
        }
      } catch (problem) {
        if (signal?.aborted) throw problem;
        if (problem instanceof TertuliaError && !problem.transient) throw problem;
        // What cannot be read will not be readable the next time.
        if (problem instanceof SyntaxError) throw new TertuliaError('bad_stream', `The server has sent an event that is no JSON: ${problem.message}`);
      }
      // The stream was cut, or could not be had.
      attempt += 1;
      onConnection?.('lost');
      await pause(backoff(attempt), signal);
    }
  }

  private async open(): Promise<Response> {
    const { signal, onTurn } = this.options;
    const response =
      this.turn !== undefined && this.session !== undefined
        ? await this.source.again(this.turn, this.session, this.last, signal)
        : await this.source.first(signal);
    this.session = response.headers.get('Tertulia-Session') ?? this.session;
    const turn = response.headers.get('Tertulia-Turn') ?? response.headers.get('Tertulia-Run') ?? undefined;
    if (turn !== undefined && turn !== this.turn) {
      this.turn = turn;
      this.last = this.source.after;
    }
    if (this.turn !== undefined && this.session !== undefined) onTurn?.(this.turn, this.session);
    return response;
  }
}

function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(signal!.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', stop);
      resolve();
    }, milliseconds);
    if (signal?.aborted) stop();
    else signal?.addEventListener('abort', stop, { once: true });
  });
}
