// What the page asks of memory, each with the collection that it is about.
import type { Episode, Fact, FoundMessage, Job, MemoryItem, Procedure } from '../../shared/client.ts';
import { asking, server } from '../state/server.ts';

export interface FoundEpisode {
  episode: Episode;
  score: number;
  quotes?: string[];
}

// Of one agent; of all of them if none is named.
export interface AgentProcedure extends Procedure {
  agent?: string;
}

// What is further away has nothing to do with what was asked.
const kNear = 0.4;

export const collections = async () => (await asking(server.collections())).collections;
export const forgetCollection = (id: string) => asking(server.deleteCollection(id));

// Also those that hold no longer.
export async function facts(collection: string): Promise<Fact[]> {
  const all: Fact[] = [];
  for (let cursor: string | undefined, more = true; more; more = cursor !== undefined) {
    const page = await asking(server.facts({ collection, all: true, ...(cursor && { cursor }) }));
    all.push(...page.facts);
    cursor = page.next;
  }
  return all;
}
export const addFact = (text: string) => asking(server.addFact({ text }));
export const forgetFact = (fact: Fact) => asking(server.forgetFact(fact.id, fact.collection));

export const documents = (collection: string, cursor?: string) => asking(server.documents({ collection, limit: 200, ...(cursor && { cursor }) }));
export const forgetDocument = (collection: string, source: string) => asking(server.deleteDocument(source, collection));
export const partsOf = async (collection: string, source: string): Promise<MemoryItem[]> =>
  (await asking(server.memoryItems({ collection, source, kind: 'chunk', limit: 50 }))).items;
export const addDocument = (collection: string, file: Blob, source: string): Promise<Job> => asking(server.addFile(source, file, { collection }));

export const search = async (query: string, from: string[]) => (await asking(server.searchMemory({ query, collections: from, top_k: 10, min_score: kNear }))).items;

export const episodes = (cursor?: string) => asking(server.episodes({ limit: 50, ...(cursor && { cursor }) }));
export const searchEpisodes = async (query: string): Promise<FoundEpisode[]> => (await asking(server.searchEpisodes({ query, top_k: 5 }))).episodes;
export const searchMessages = async (query: string): Promise<FoundMessage[]> => (await asking(server.searchMessages({ query, limit: 20 }))).messages;
export const forgetEpisode = (id: string) => asking(server.forgetEpisode(id));

export const procedures = async (agent?: string): Promise<AgentProcedure[]> => (await asking(server.procedures(agent))).procedures.map((one) => ({ ...one, agent }));
export const approveProcedure = ({ name, agent }: AgentProcedure) => asking(server.approveProcedure(name, agent));
export const forgetProcedure = ({ name, agent }: AgentProcedure) => asking(server.deleteProcedure(name, agent));
