// The client: one method for each route of docs/contracts/api.md.
//
//   const tertulia = new Tertulia({ base: 'http://127.0.0.1:8080' });
//   for await (const event of tertulia.send({ message: 'Add 10 and 20' })) …
//
// Failures are TertuliaError with the server's code; "unreachable" if there was no answer.
import { errorFrom, TertuliaError } from './error.ts';
import { readFrames } from './sse.ts';
import { TurnStream, type StreamOptions } from './stream.ts';
import type * as t from './types.ts';

export interface ClientOptions {
  // Where the server is. Default: where the page came from.
  base?: string;
  // An API key, or the signed token of a visitor. May change while the client is in use.
  key?: string | (() => string | undefined);
  // For whom a key that is bound to nobody acts.
  user?: string;
  fetch?: typeof globalThis.fetch;
}

interface Ask {
  method?: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  // Sent as it is, with its own type.
  raw?: { type: string; bytes: BodyInit };
  headers?: Record<string, string>;
  signal?: AbortSignal;
}

const seg = encodeURIComponent;

export class Tertulia {
  private readonly base: string;
  constructor(private readonly options: ClientOptions = {}) {
    this.base = (options.base ?? '').replace(/\/$/, '');
  }

  // Sessions
  createSession(body: { id?: string; metadata?: t.Metadata } = {}): Promise<t.Session> {
    return this.json('/sessions', { method: 'POST', body });
  }
  sessions(query: { limit?: number; cursor?: string; status?: string; [metadata: `metadata.${string}`]: string } = {}) {
    return this.json<t.SessionPage>('/sessions', { query });
  }
  session(id: string, signal?: AbortSignal): Promise<t.Session> {
    return this.json(`/sessions/${seg(id)}`, { signal });
  }
  // Merged member by member; null removes one. With a revision, only if the session is still at it.
  patchSession(id: string, metadata: t.Metadata, revision?: number): Promise<t.Session> {
    return this.json(`/sessions/${seg(id)}`, { method: 'PATCH', body: { metadata }, headers: ifMatch(revision) });
  }
  closeSession(id: string): Promise<t.Session> {
    return this.json(`/sessions/${seg(id)}/close`, { method: 'POST' });
  }
  reopenSession(id: string): Promise<t.Session> {
    return this.json(`/sessions/${seg(id)}/reopen`, { method: 'POST' });
  }
  deleteSession(id: string): Promise<unknown> {
    return this.json(`/sessions/${seg(id)}`, { method: 'DELETE' });
  }
  async exportSession(id: string): Promise<Blob> {
    return (await this.ask(`/sessions/${seg(id)}/export`, {})).blob();
  }
  // The sessions of an archive become this user's; `adopt` takes over those of others.
  importSessions(archive: Blob | string, adopt = false): Promise<t.ImportCounts> {
    const raw = { type: 'application/x-ndjson', bytes: archive };
    return this.json('/import', { method: 'POST', raw, query: { adopt: adopt || undefined } });
  }
  sessionEpisodes(id: string, query: { limit?: number; cursor?: string } = {}) {
    return this.json<t.EpisodePage>(`/sessions/${seg(id)}/episodes`, { query });
  }

  // Branches and messages
  branches(session: string): Promise<{ branches: t.Branch[] }> {
    return this.json(`/sessions/${seg(session)}/branches`);
  }
  branch(session: string, branch: string): Promise<t.Branch> {
    return this.json(`/sessions/${seg(session)}/branches/${seg(branch)}`);
  }
  fork(session: string, body: { from?: string; id?: string; at_index?: number; at_message?: string; label?: string }) {
    return this.json<t.Branch>(`/sessions/${seg(session)}/branches`, { method: 'POST', body });
  }
  patchBranch(session: string, branch: string, body: { label?: string; description?: string; tags?: string[] }) {
    return this.json<t.Branch>(`/sessions/${seg(session)}/branches/${seg(branch)}`, { method: 'PATCH', body });
  }
  deleteBranch(session: string, branch: string, recursive = false): Promise<{ deleted: string[] }> {
    const query = { recursive: recursive || undefined };
    return this.json(`/sessions/${seg(session)}/branches/${seg(branch)}`, { method: 'DELETE', query });
  }
  diff(session: string, branch: string, other: string): Promise<t.Diff> {
    return this.json(`/sessions/${seg(session)}/branches/${seg(branch)}/diff`, { query: { with: other } });
  }
  // The turns of `from` that are not in `branch` come to its end; with `summary`, what they came to.
  merge(session: string, branch: string, body: { from: string; turns?: number[]; summary?: boolean }) {
    const path = `/sessions/${seg(session)}/branches/${seg(branch)}/merge`;
    return this.json<{ revision: number; turns: number; summary?: string }>(path, { method: 'POST', body });
  }
  messages(session: string, query: { branch?: string; limit?: number; before?: number; from?: number } = {}) {
    return this.json<t.MessagePage>(`/sessions/${seg(session)}/messages`, { query });
  }
  // Words in the latest conversations; the last word may be the beginning of one.
  searchMessages(body: { query: string; limit?: number }): Promise<{ messages: t.FoundMessage[] }> {
    return this.json('/messages/search', { method: 'POST', body });
  }
  // Erases it with everything that came from it: facts, episodes, summaries, copies on other branches.
  eraseMessage(session: string, message: string): Promise<t.ErasedMessage> {
    return this.json(`/sessions/${seg(session)}/messages/${seg(message)}`, { method: 'DELETE' });
  }

  // Turns
  // Sends a message and streams the turn. Every attempt has the same idempotency key, so a connection that
  // breaks at the wrong moment sends nothing twice.
  send(turn: t.TurnRequest, options: StreamOptions & { idempotencyKey?: string } = {}): TurnStream {
    const key = options.idempotencyKey ?? freshKey();
    const headers = { 'Idempotency-Key': key };
    const first = (signal?: AbortSignal) =>
      this.ask('/turns', { method: 'POST', body: { ...turn, stream: true }, headers, signal });
    return new TurnStream({ first, again: this.eventsOf(turn.branch) }, options);
  }
  // The same without its events: waits for the end. With a revision, only if the session is still at it.
  say(turn: t.TurnRequest, options: { idempotencyKey?: string; revision?: number; signal?: AbortSignal } = {}): Promise<t.TurnOutcome> {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? freshKey(), ...ifMatch(options.revision) };
    return this.json('/turns', { method: 'POST', body: turn, headers, signal: options.signal });
  }
  resume(session: string, body: { branch?: string; agent?: string; model?: string; on_interrupted?: t.OnInterrupted } = {}, options: StreamOptions = {}): TurnStream {
    const path = `/sessions/${seg(session)}/resume`;
    const first = (signal?: AbortSignal) => this.ask(path, { method: 'POST', body: { ...body, stream: true }, signal });
    return new TurnStream({ first, again: this.eventsOf(body.branch) }, options);
  }
  watch(session: string, turn: string, place: { branch?: string; after?: number } = {}, options: StreamOptions = {}) {
    const again = this.eventsOf(place.branch);
    const first = (signal?: AbortSignal) => again(turn, session, place.after, signal);
    return new TurnStream({ first, again, turn, session, after: place.after }, options);
  }
  turns(session: string, signal?: AbortSignal): Promise<t.TurnsInProgress> {
    return this.json(`/sessions/${seg(session)}/turns`, { signal });
  }
  cancel(session: string, turn: string): Promise<unknown> {
    return this.json(`/sessions/${seg(session)}/turns/${seg(turn)}/cancel`, { method: 'POST' });
  }
  steer(session: string, turn: string, message: string): Promise<unknown> {
    return this.json(`/sessions/${seg(session)}/turns/${seg(turn)}/steer`, { method: 'POST', body: { message } });
  }
  // Cuts this turn, if it still runs; the message comes next.
  interrupt(session: string, turn: string, body: Omit<t.TurnRequest, 'session' | 'branch' | 'on_busy'>, options: StreamOptions = {}): TurnStream {
    const path = `/sessions/${seg(session)}/turns/${seg(turn)}/interrupt`;
    const first = (signal?: AbortSignal) => this.ask(path, { method: 'POST', body: { ...body, stream: true }, signal });
    return new TurnStream({ first, again: this.eventsOf(undefined) }, options);
  }
  turn(session: string, turn: string, branch?: string): Promise<t.TurnState> {
    return this.json(`/sessions/${seg(session)}/turns/${seg(turn)}`, { query: { branch } });
  }
  receipts(session: string, turn: string): Promise<{ receipts: t.Receipt[] }> {
    return this.json(`/sessions/${seg(session)}/turns/${seg(turn)}/receipts`);
  }

  // Questions, tool calls, assets
  questions(session?: string): Promise<{ questions: t.Question[] }> {
    return this.json('/questions', { query: { session } });
  }
  // `call` of an elicitation is `${question.call}.${question.part}`.
  answer(session: string, turn: string, call: number | string, choice: t.Choice, output?: { output: string; failed?: boolean }) {
    const path = `/sessions/${seg(session)}/turns/${seg(turn)}/questions/${call}`;
    return this.json<unknown>(path, { method: 'POST', body: { choice, ...output } });
  }
  toolCalls(query: { session?: string; branch?: string; turn?: string; limit?: number; cursor?: string }) {
    return this.json<t.ToolCallPage>('/tool-calls', { query });
  }
  // Calls whose outcome a crash has hidden.
  unknownOutcomes(): Promise<{ tool_calls: t.ToolCallRecord[] }> {
    return this.json('/unknown-outcomes');
  }
  assets(session: string, query: { limit?: number; cursor?: string } = {}) {
    return this.json<{ assets: (t.Asset & { time: string })[]; next?: string }>(`/sessions/${seg(session)}/assets`, { query });
  }
  addAsset(session: string, file: Blob): Promise<t.Asset> {
    const raw = { type: file.type || 'application/octet-stream', bytes: file };
    return this.json(`/sessions/${seg(session)}/assets`, { method: 'POST', raw });
  }
  async asset(session: string, id: string): Promise<Blob> {
    return (await this.ask(`/sessions/${seg(session)}/assets/${seg(id)}`, {})).blob();
  }

  // Memory. A collection is `user` unless another is named.
  collections(): Promise<{ collections: t.Collection[] }> {
    return this.json('/memory/collections');
  }
  deleteCollection(id: string): Promise<unknown> {
    return this.json(`/memory/collections/${seg(id)}`, { method: 'DELETE' });
  }
  documents(query: { collection?: string; limit?: number; cursor?: string } = {}) {
    return this.json<{ documents: t.MemoryDocument[]; next?: string }>('/memory/documents', { query });
  }
  // Durable when it is answered; `watchJob` or `job` tell how far it is.
  addDocument(body: t.NewDocument, options: { idempotencyKey?: string; signal?: AbortSignal } = {}): Promise<t.Job> {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? freshKey() };
    return this.json('/memory/documents', { method: 'POST', body, headers, signal: options.signal });
  }
  // Text, markdown, HTML or PDF, by its type.
  addFile(source: string, file: Blob, options: { collection?: string; idempotencyKey?: string } = {}): Promise<t.Job> {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? freshKey() };
    const query = { source, collection: options.collection };
    return this.json('/memory/documents', { method: 'POST', raw: { type: file.type || 'text/plain', bytes: file }, query, headers });
  }
  deleteDocument(source: string, collection?: string): Promise<t.Removed> {
    return this.json('/memory/documents', { method: 'DELETE', query: { source, collection } });
  }
  jobs(status?: t.Job['status']): Promise<{ jobs: t.Job[] }> {
    return this.json('/memory/jobs', { query: { status } });
  }
  job(id: string): Promise<t.Job> {
    return this.json(`/memory/jobs/${seg(id)}`);
  }
  cancelJob(id: string): Promise<t.Job> {
    return this.json(`/memory/jobs/${seg(id)}/cancel`, { method: 'POST' });
  }
  // The job as it changes, to its end, whatever happens to the connection.
  async *watchJob(id: string, signal?: AbortSignal): AsyncGenerator<t.Job> {
    for (let attempt = 0; ; attempt += 1) {
      try {
        const response = await this.ask(`/memory/jobs/${seg(id)}/events`, { signal });
        for await (const frame of readFrames(response.body!)) {
          attempt = 0;
          if (frame.event !== 'progress') return;
          yield JSON.parse(frame.data) as t.Job;
        }
      } catch (problem) {
        if (signal?.aborted || (problem instanceof TertuliaError && !problem.transient)) throw problem;
      }
      await new Promise((resolve) => setTimeout(resolve, Math.min(4000, 250 * 2 ** attempt)));
    }
  }
  memoryItems(query: { collection?: string; kind?: t.MemoryKind; source?: string; limit?: number; cursor?: string } = {}) {
    return this.json<{ items: t.MemoryItem[]; next?: string }>('/memory/items', { query });
  }
  memoryItem(id: string, collection?: string): Promise<t.MemoryItem> {
    return this.json(`/memory/items/${seg(id)}`, { query: { collection } });
  }
  searchMemory(body: t.MemorySearch): Promise<{ items: t.MemoryItem[] }> {
    return this.json('/memory/search', { method: 'POST', body });
  }
  facts(query: { collection?: string; as_of?: string; all?: boolean; limit?: number; cursor?: string } = {}) {
    return this.json<{ facts: t.Fact[]; next?: string }>('/memory/facts', { query });
  }
  fact(id: string, collection?: string): Promise<t.Fact> {
    return this.json(`/memory/facts/${seg(id)}`, { query: { collection } });
  }
  addFact(body: { text: string; collection?: string; valid_from?: string; sources?: string[] }) {
    return this.json<{ fact: t.Fact; known: boolean; superseded: string[] }>('/memory/facts', { method: 'POST', body });
  }
  forgetFact(id: string, collection?: string): Promise<t.Removed> {
    return this.json(`/memory/facts/${seg(id)}`, { method: 'DELETE', query: { collection } });
  }
  episodes(query: { session?: string; limit?: number; cursor?: string } = {}) {
    return this.json<t.EpisodePage>('/memory/episodes', { query });
  }
  episode(id: string): Promise<{ episode: t.Episode; messages: t.Message[] }> {
    return this.json(`/memory/episodes/${seg(id)}`);
  }
  searchEpisodes(body: { query: string; top_k?: number; quotes?: number; session?: string }) {
    type Found = { episode: t.Episode; score: number; quotes: string[] };
    return this.json<{ episodes: Found[] }>('/memory/episodes/search', { method: 'POST', body });
  }
  forgetEpisode(id: string): Promise<t.Removed> {
    return this.json(`/memory/episodes/${seg(id)}`, { method: 'DELETE' });
  }
  procedures(agent?: string): Promise<{ procedures: t.Procedure[] }> {
    return this.json('/memory/procedures', { query: { agent } });
  }
  addProcedure(body: t.NewProcedure): Promise<t.Procedure> {
    return this.json('/memory/procedures', { method: 'POST', body });
  }
  approveProcedure(name: string, agent?: string): Promise<t.Procedure> {
    return this.json(`/memory/procedures/${seg(name)}/approve`, { method: 'POST', query: { agent } });
  }
  deleteProcedure(name: string, agent?: string): Promise<t.Removed> {
    return this.json(`/memory/procedures/${seg(name)}`, { method: 'DELETE', query: { agent } });
  }

  // Workflows
  workflows(): Promise<{ workflows: t.Workflow[] }> {
    return this.json('/workflows');
  }
  workflow(id: string): Promise<t.Workflow> {
    return this.json(`/workflows/${seg(id)}`);
  }
  async workflowGraph(id: string, format: 'mermaid' | 'dot' | 'svg', query: { internal?: boolean; run?: string } = {}) {
    return (await this.ask(`/workflows/${seg(id)}/graph`, { query: { format, ...query } })).text();
  }
  // Streams the run as a turn is streamed, with the events of workflows.
  runWorkflow(id: string, body: t.NewRun, options: StreamOptions & { idempotencyKey?: string } = {}) {
    const headers = { 'Idempotency-Key': options.idempotencyKey ?? freshKey() };
    return this.runStream(id, `/workflows/${seg(id)}/runs`, { ...body }, options, headers);
  }
  watchRun(id: string, run: string, after?: number, options: StreamOptions = {}) {
    const again = this.runEvents(id);
    const first = (signal?: AbortSignal) => again(run, '', after, signal);
    return new TurnStream<t.RunOutcome>({ first, again, turn: run, session: '', after }, options);
  }
  resumeRun(id: string, run: string, options: StreamOptions = {}) {
    return this.runStream(id, `/workflows/${seg(id)}/runs/${seg(run)}/resume`, {}, options);
  }
  forkRun(id: string, run: string, body: { checkpoint: string; branch?: string }, options: StreamOptions = {}) {
    return this.runStream(id, `/workflows/${seg(id)}/runs/${seg(run)}/fork`, body, options);
  }
  runs(query: { status?: t.RunStatus; session?: string } = {}, workflow?: string): Promise<{ runs: t.Run[] }> {
    return this.json(workflow === undefined ? '/workflow-runs' : `/workflows/${seg(workflow)}/runs`, { query });
  }
  run(id: string, run: string): Promise<t.Run> {
    return this.json(`/workflows/${seg(id)}/runs/${seg(run)}`);
  }
  checkpoints(id: string, run: string): Promise<{ checkpoints: t.Checkpoint[] }> {
    return this.json(`/workflows/${seg(id)}/runs/${seg(run)}/checkpoints`);
  }
  // The run goes on by itself unless `resume` is false.
  answerRun(id: string, run: string, request: string, answer: unknown, resume = true) {
    const path = `/workflows/${seg(id)}/runs/${seg(run)}/requests/${seg(request)}`;
    return this.json<{ run: string; status: t.RunStatus }>(path, { method: 'POST', body: { answer, resume } });
  }
  cancelRun(id: string, run: string): Promise<unknown> {
    return this.json(`/workflows/${seg(id)}/runs/${seg(run)}/cancel`, { method: 'POST' });
  }

  // The server
  agents(): Promise<{ agents: t.AgentInfo[] }> {
    return this.json('/agents');
  }
  agent(id: string): Promise<t.AgentInfo> {
    return this.json(`/agents/${seg(id)}`);
  }
  models(): Promise<{ models: t.ModelChoice[] }> {
    return this.json('/models');
  }
  version(): Promise<{ version: string; api: string }> {
    return this.json('/version');
  }
  me(): Promise<{ tenant: string; user: string; scopes: string[] }> {
    return this.json('/me');
  }
  // A token for a page, which speaks for this user; a new one if none is named.
  createVisitor(body: { user?: string; seconds?: number } = {}): Promise<{ token: string; user: string; expires_at: string }> {
    return this.json('/visitors', { method: 'POST', body });
  }
  async exportUser(user: string): Promise<Blob> {
    return (await this.ask(`/users/${seg(user)}/export`, {})).blob();
  }
  eraseUser(user: string): Promise<t.Erased> {
    return this.json(`/users/${seg(user)}`, { method: 'DELETE' });
  }

  private eventsOf(branch: string | undefined) {
    return (turn: string, session: string, after: number | undefined, signal: AbortSignal | undefined) =>
      this.ask(`/sessions/${seg(session)}/turns/${seg(turn)}/events`, { query: { branch, after }, signal });
  }

  private runEvents(workflow: string) {
    return (run: string, _session: string, after: number | undefined, signal: AbortSignal | undefined) =>
      this.ask(`/workflows/${seg(workflow)}/runs/${seg(run)}/events`, { query: { after }, signal });
  }

  private runStream(workflow: string, path: string, body: object, options: StreamOptions, headers?: Record<string, string>) {
    const first = (signal?: AbortSignal) =>
      this.ask(path, { method: 'POST', body: { ...body, stream: true }, headers, signal });
    return new TurnStream<t.RunOutcome>({ first, again: this.runEvents(workflow) }, options);
  }

  private async json<T>(path: string, ask: Ask = {}): Promise<T> {
    return (await (await this.ask(path, ask)).json()) as T;
  }

  private async ask(path: string, ask: Ask): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(ask.query ?? {})) {
      if (value !== undefined) query.set(name, String(value));
    }
    const { key, user } = this.options;
    const secret = typeof key === 'function' ? key() : key;
    const headers: Record<string, string> = { ...ask.headers };
    if (secret) headers['Authorization'] = `Bearer ${secret}`;
    if (user) headers['Tertulia-User'] = user;
    if (ask.raw) headers['Content-Type'] = ask.raw.type;
    else if (ask.body !== undefined) headers['Content-Type'] = 'application/json';
    const send = this.options.fetch ?? globalThis.fetch;
    let response: Response;
    try {
      response = await send(`${this.base}/api/v1${path}${query.size ? `?${query}` : ''}`, {
        method: ask.method ?? 'GET',
        headers,
        body: ask.raw?.bytes ?? (ask.body === undefined ? undefined : JSON.stringify(ask.body)),
        signal: ask.signal ?? null,
      });
    } catch (problem) {
      if (ask.signal?.aborted) throw problem;
      throw new TertuliaError('unreachable', 'The server cannot be reached.');
    }
    if (response.ok) return response;
    throw errorFrom(await response.json().catch(() => undefined), response.status);
  }
}

const ifMatch = (revision: number | undefined): Record<string, string> =>
  revision === undefined ? {} : { 'If-Match': `"${revision}"` };

// crypto.randomUUID is there in secure contexts only; a server in the local network may have no TLS.
export function freshKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
