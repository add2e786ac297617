// What the page asks of memory: the routes of docs/contracts/api.md, Memory.
import { readFrames, type Message } from '../../shared/client.ts';
import { asking, server } from '../state/server.ts';

export interface Collection {
  id: string;
  items: number;
  documents: number;
  facts: number;
  writable: boolean;
}

export interface Fact {
  id: string;
  collection: string;
  text: string;
  valid_from: string;
  valid_until?: string;
  superseded_by?: string;
  sources?: string[];
  writer?: string;
}

export interface Document {
  source: string;
  chunks: number;
  written_at: string;
  writer?: string;
}

export interface Job {
  id: string;
  collection: string;
  source: string;
  status: 'queued' | 'running' | 'done' | 'failed' | 'cancelled';
  chunks_done: number;
  chunks: number;
  changed?: boolean;
  error?: { code: string; message: string };
  created_at: string;
}

export interface Item {
  id: string;
  collection: string;
  kind: 'chunk' | 'fact' | 'turn';
  source?: string;
  heading_path?: string[];
  text: string;
  time?: string;
  score?: number;
}

export interface Episode {
  id: string;
  session: string;
  branch: string;
  first: number;
  last: number;
  opened_at: string;
  closed_at: string;
  end_reason: string;
  summary?: string;
  key_facts?: string[];
  message_count?: number;
  turn_count?: number;
}

export interface FoundEpisode {
  episode: Episode;
  score: number;
  quotes?: string[];
}

export interface Procedure {
  name: string;
  description: string;
  trigger?: string;
  steps?: { instruction: string; tool?: string }[];
  approved: boolean;
  learned?: boolean;
  writer?: string;
  changed_at?: string;
  // Of which agent; none: of all. Not the server's word but ours.
  agent?: string;
}

const seg = encodeURIComponent;
const read = <T>(path: string, query: Record<string, string | number | boolean | undefined> = {}) => asking(server.json<T>(`/memory${path}`, { query }));
const post = <T>(path: string, body: unknown, query = {}) => asking(server.json<T>(`/memory${path}`, { method: 'POST', body, query }));
const remove = (path: string, query = {}) => asking(server.json<unknown>(`/memory${path}`, { method: 'DELETE', query }));

export const collections = async () => (await read<{ collections: Collection[] }>('/collections')).collections;
export const forgetCollection = (id: string) => remove(`/collections/${seg(id)}`);

// Also those that hold no longer.
export const facts = async (collection: string) => (await read<{ facts: Fact[] }>('/facts', { collection, all: true })).facts;
export const addFact = (text: string) => post<{ fact: Fact; known: boolean; superseded?: string[] }>('/facts', { text });
export const forgetFact = (fact: Fact) => remove(`/facts/${seg(fact.id)}`, { collection: fact.collection });

export const documents = (collection: string, cursor?: string) => read<{ documents: Document[]; next?: string }>('/documents', { collection, limit: 200, cursor });
export const forgetDocument = (collection: string, source: string) => remove('/documents', { collection, source });
export const partsOf = async (collection: string, source: string) => (await read<{ items: Item[] }>('/items', { collection, source, kind: 'chunk', limit: 50 })).items;
export const addDocument = (collection: string, file: Blob, source: string, type: string): Promise<Job> =>
  asking(server.json('/memory/documents', { method: 'POST', raw: { type, bytes: file }, query: { collection, source } }));

export const jobs = async () => (await read<{ jobs: Job[] }>('/jobs')).jobs;
export const cancelJob = (id: string) => post<Job>(`/jobs/${seg(id)}/cancel`, undefined);
// The job each time it has got on, until it has ended or the connection is gone.
export async function* watchJob(id: string): AsyncGenerator<Job> {
  const response = await asking(server.ask(`/memory/jobs/${seg(id)}/events`, {}));
  for await (const frame of readFrames(response.body!)) if (frame.event === 'progress') yield JSON.parse(frame.data) as Job;
  yield await read<Job>(`/jobs/${seg(id)}`);
}

// What is further away has nothing to do with what was asked.
const kNear = 0.15;
export const search = async (query: string, from: readonly string[]) => (await post<{ items: Item[] }>('/search', { query, collections: from, top_k: 10, min_score: kNear })).items;

export const episodes = (cursor?: string) => read<{ episodes: Episode[]; next?: string }>('/episodes', { limit: 50, cursor });
export const episodeMessages = async (id: string) => (await read<{ messages: Message[] }>(`/episodes/${seg(id)}`)).messages;
export const searchEpisodes = async (query: string) => (await post<{ episodes: FoundEpisode[] }>('/episodes/search', { query, top_k: 5 })).episodes;
export const forgetEpisode = (id: string) => remove(`/episodes/${seg(id)}`);

export const procedures = async (agent?: string) => (await read<{ procedures: Procedure[] }>('/procedures', { agent })).procedures.map((one) => ({ ...one, agent }));
export const approveProcedure = (procedure: Procedure) => post<Procedure>(`/procedures/${seg(procedure.name)}/approve`, undefined, { agent: procedure.agent });
export const forgetProcedure = (procedure: Procedure) => remove(`/procedures/${seg(procedure.name)}`, { agent: procedure.agent });
