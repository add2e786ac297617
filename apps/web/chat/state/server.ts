// The server that the page came from, and what is known of it.
import { batch, signal } from '@preact/signals';
import { Tertulia, TertuliaError, type AgentInfo, type ModelChoice } from '../../shared/client.ts';
import { asText, keep, readKept, tabStorage } from '../../shared/storage.ts';

let key = readKept(tabStorage, 'tertulia.key', asText);

export const server = new Tertulia({ key: () => key });

// The server wants a key that the page does not have.
export const keyWanted = signal(false);
// The one that it was given is not valid, or not any more.
export const keyRefused = signal(false);
// Whether the last request had an answer.
export const reachable = signal(true);
export const agents = signal<AgentInfo[]>([]);
export const models = signal<readonly ModelChoice[]>([]);

export function useKey(given: string): void {
  key = given;
  keep(tabStorage, 'tertulia.key', given);
  keyWanted.value = false;
}

// Notes what a failure tells about the server. Returns it as an error of ours.
export function noteFailure(problem: unknown): TertuliaError {
  const error =
    problem instanceof TertuliaError
      ? problem
      : new TertuliaError('page_error', problem instanceof Error ? problem.message : String(problem));
  if (error.code === 'bad_key') {
    keyRefused.value = key !== undefined;
    keyWanted.value = true;
  }
  if (error.code === 'unreachable') reachable.value = false;
  return error;
}

export async function asking<T>(answer: Promise<T>): Promise<T> {
  try {
    const value = await answer;
    reachable.value = true;
    return value;
  } catch (problem) {
    throw noteFailure(problem);
  }
}

export async function loadAgents(): Promise<void> {
  const [speakers, choices] = await asking(Promise.all([server.agents(), server.models()]));
  batch(() => {
    agents.value = speakers.agents;
    models.value = choices.models;
  });
}
