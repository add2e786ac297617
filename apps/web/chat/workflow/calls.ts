// What the page asks of workflows: the routes of docs/contracts/api.md, Workflows.
import { freshKey, TurnStream, type Json, type StreamOptions } from '../../shared/client.ts';
import type { RunStatus } from '../../shared/run_state.ts';
import { asking, server } from '../state/server.ts';

export interface Graph {
  start?: string;
  nodes: { id: string; kind?: string; agent?: string; internal?: true }[];
  edges: { from: string; to: string; kind?: string; label?: string }[];
}

export interface Workflow {
  id: string;
  name?: string;
  participants?: string[];
  warnings?: string[];
  error?: { code: string; message: string };
  graph?: Graph;
}

export interface Run {
  run: string;
  workflow: string;
  session: string;
  branch?: string;
  status: RunStatus;
  // Somebody works on it now.
  live: boolean;
  supersteps: number;
  started_at: string;
  last_activity: string;
  forked_from?: string;
}

export interface Checkpoint {
  id: string;
  superstep: number;
  status: RunStatus;
  time: string;
}

const seg = encodeURIComponent;
const runPath = (workflow: string, run: string) => `/workflows/${seg(workflow)}/runs/${seg(run)}`;

export const workflows = async () => (await asking(server.json<{ workflows: Workflow[] }>('/workflows'))).workflows;
export const workflow = (id: string) => asking(server.json<Workflow>(`/workflows/${seg(id)}`));
export const runs = async (id: string) => (await asking(server.json<{ runs: Run[] }>(`/workflows/${seg(id)}/runs`))).runs;
export const runOf = (id: string, run: string) => asking(server.json<Run>(runPath(id, run)));
export const checkpoints = async (id: string, run: string) => (await asking(server.json<{ checkpoints: Checkpoint[] }>(`${runPath(id, run)}/checkpoints`))).checkpoints;
export const cancelRun = (id: string, run: string) => asking(server.json(`${runPath(id, run)}/cancel`, { method: 'POST' }));
export const answerRequest = (id: string, run: string, request: string, answer: Json) =>
  asking(server.json(`${runPath(id, run)}/requests/${seg(request)}`, { method: 'POST', body: { answer } }));

interface RunOptions extends StreamOptions {
  onRun: (run: string, session: string) => void;
}

type Begin = (signal: AbortSignal | undefined) => Promise<Response>;

// The events of a run, whatever happens to the connection: what began it is asked once, then the run is watched.
function runStream(id: string, begin: Begin | undefined, known: string | undefined, after: () => number | undefined, options: RunOptions): TurnStream {
  let run = known;
  const first = async (signal: AbortSignal | undefined) => {
    const response = run === undefined ? await begin!(signal) : await server.ask(`${runPath(id, run)}/events`, { query: { after: after() }, signal });
    run = response.headers.get('Tertulia-Run') ?? run;
    if (run !== undefined) options.onRun(run, response.headers.get('Tertulia-Session') ?? '');
    return response;
  };
  return new TurnStream({ first, again: (_turn, _session, _after, signal) => first(signal) }, options);
}

export const watchRun = (id: string, run: string, after: () => number | undefined, options: RunOptions) => runStream(id, undefined, run, after, options);

export function beginRun(id: string, body: { message: string; session: string; branch?: string }, after: () => number | undefined, options: RunOptions): TurnStream {
  const headers = { 'Idempotency-Key': freshKey() };
  return runStream(id, (signal) => server.ask(`/workflows/${seg(id)}/runs`, { method: 'POST', body: { ...body, stream: true }, headers, signal }), undefined, after, options);
}

export const resumeRun = (id: string, run: string, after: () => number | undefined, options: RunOptions) =>
  runStream(id, (signal) => server.ask(`${runPath(id, run)}/resume`, { method: 'POST', body: { stream: true }, signal }), undefined, after, options);

export const forkRun = (id: string, run: string, checkpoint: string, after: () => number | undefined, options: RunOptions) =>
  runStream(id, (signal) => server.ask(`${runPath(id, run)}/fork`, { method: 'POST', body: { checkpoint, stream: true }, signal }), undefined, after, options);
