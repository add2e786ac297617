// A run on the screen: begun here, or found and watched. It follows its events, whoever made them happen.
import { signal } from '@preact/signals';
import { saidOf } from '../../shared/blocks.ts';
import { TertuliaError, type Run, type RunOutcome, type TurnStream } from '../../shared/client.ts';
import { applyRunEvent, newRun, type RunState } from '../../shared/run_state.ts';
import { titleFrom } from '../../shared/words.ts';
import { asking, noteFailure, reachable, server } from '../state/server.ts';
import { deleteBeginning, noteSession } from '../state/session_list.ts';

// As for answers: a reader cannot tell it from more.
const kFrame = 40;
// A message is made a moment before or after its run.
const kSlack = 2000;

export class FollowedRun {
  readonly workflow: string;
  readonly run = signal<string | undefined>(undefined);
  readonly session = signal<string | undefined>(undefined);
  readonly branch = signal<string | undefined>(undefined);
  readonly said = signal('');
  readonly state = signal<RunState>(newRun());
  // Its events are being read.
  readonly following = signal(false);
  readonly problem = signal<TertuliaError | undefined>(undefined);
  private now = newRun();
  private readonly left = new AbortController();

  constructor(workflow: string) {
    this.workflow = workflow;
  }

  leave(): void {
    this.left.abort();
  }

  // `from`: a run whose conversation goes on; none: a new conversation.
  async begin(message: string, from?: FollowedRun): Promise<void> {
    this.said.value = message;
    this.following.value = true;
    try {
      const known = from?.session.value;
      const session = known ?? (await this.newSession(message));
      const branch = from?.branch.value;
      this.session.value = session;
      await this.follow(server.runWorkflow(this.workflow, { message, session, ...(branch && { branch }) }, this.options()));
      if (this.run.value === undefined && known === undefined) await deleteBeginning(session);
    } catch (problem) {
      this.failed(problem);
    }
  }

  // Reads everything that has happened in it, and goes on with what happens.
  async watch(run: string): Promise<void> {
    this.run.value = run;
    try {
      const found = await asking(server.run(this.workflow, run));
      this.session.value = found.session;
      this.branch.value = found.branch;
      void this.readSaid(found);
      await this.follow(server.watchRun(this.workflow, run, this.after, this.options()));
    } catch (problem) {
      this.failed(problem);
    }
  }

  async answer(request: string, words: string): Promise<void> {
    const run = this.run.value!;
    try {
      await asking(server.answerRun(this.workflow, run, request, words));
    } catch (problem) {
      // Somebody was quicker. The events tell what they said.
      if ((problem as TertuliaError).code !== 'no_question') throw problem;
    }
    this.now = { ...this.now, requests: this.now.requests.filter((one) => one.id !== request) };
    this.draw();
    if (!this.following.value) await this.follow(server.watchRun(this.workflow, run, this.after, this.options()));
  }

  resume(): Promise<void> {
    return this.follow(server.resumeRun(this.workflow, this.run.value!, this.options()));
  }

  // A run of its own; this one stays as it is.
  fork(from: FollowedRun, checkpoint: string): Promise<void> {
    this.said.value = from.said.value;
    this.session.value = from.session.value;
    return this.follow(server.forkRun(this.workflow, from.run.value!, { checkpoint }, this.options()));
  }

  cancel(): Promise<unknown> {
    return asking(server.cancelRun(this.workflow, this.run.value!));
  }

  // Its words are messages of a session, which the list of conversations shows by its name.
  private async newSession(message: string): Promise<string> {
    const session = await asking(server.createSession({ metadata: { title: titleFrom(message), workflow: this.workflow } }));
    noteSession(session);
    return session.id;
  }

  // What the run was begun with: the last thing that a person had said then, or the first of all that a fork shares.
  private async readSaid({ session, branch, started_at, forked_from }: Run): Promise<void> {
    const page = await asking(server.messages(session, { from: 0, limit: 200, ...(branch && { branch }) })).catch(() => undefined);
    const said = (page?.messages ?? []).filter((message) => message.role === 'user');
    const before = said.filter((message) => Date.parse(message.time) <= Date.parse(started_at) + kSlack);
    const meant = (forked_from ? undefined : before.at(-1)) ?? said[0];
    if (meant) this.said.value = saidOf(meant).said;
  }

  // The last event that was heard.
  private get after(): number | undefined {
    return this.now.last < 0 ? undefined : this.now.last;
  }

  private options() {
    return {
      signal: this.left.signal,
      onTurn: (run: string, session: string) => {
        this.run.value = run;
        if (session) this.session.value = session;
      },
      onConnection: (state: 'connecting' | 'open' | 'lost') => {
        if (state !== 'connecting') reachable.value = state === 'open';
      },
    };
  }

  private draw(): void {
    this.state.value = this.now;
  }

  private async follow(stream: TurnStream<RunOutcome>): Promise<void> {
    let drawing = 0;
    this.problem.value = undefined;
    this.following.value = true;
    try {
      for await (const event of stream) {
        this.now = applyRunEvent(this.now, event);
        drawing ||= window.setTimeout(() => ((drawing = 0), this.draw()), kFrame);
      }
      this.branch.value = stream.outcome?.branch ?? this.branch.value;
    } catch (problem) {
      this.failed(problem);
    } finally {
      clearTimeout(drawing);
      this.draw();
      this.following.value = false;
    }
  }

  private failed(problem: unknown): void {
    this.following.value = false;
    if (!this.left.signal.aborted) this.problem.value = noteFailure(problem);
  }
}
