// Models that an agent can be given in place of its own, and which one a conversation has.
import { signal } from '@preact/signals';
import type { AgentInfo, Message, Session } from '../../shared/client.ts';
import { sameModel } from '../../shared/model_names.ts';
import { agents, asking, models, server } from './server.ts';
import { noteSession, sessions } from './session_list.ts';
import { settings } from './settings.ts';

// Choices that are not with the server yet, by session; '' is a conversation that has not begun. Undefined: the agent's own.
const picked = signal<ReadonlyMap<string, string | undefined>>(new Map());

function pick(session: string, change: { name: string | undefined } | undefined): void {
  const next = new Map(picked.value);
  if (change) next.set(session, change.name);
  else next.delete(session);
  picked.value = next;
}

function keptBy(session: Session | undefined): string | undefined {
  const name = session?.metadata?.['model'];
  return typeof name === 'string' && name ? name : undefined;
}

// The name of the model that a conversation has chosen. Undefined: the agent's own; so it is for one that is not configured any
// more.
export function chosenModel(id = '', opened?: Session): string | undefined {
  const name = picked.value.has(id) ? picked.value.get(id) : keptBy(sessions.value.find((session) => session.id === id) ?? opened);
  return models.value.some((model) => model.name === name) ? name : undefined;
}

// It is kept with the conversation, whatever browser opens it.
export async function chooseModel(id: string | undefined, name: string | undefined): Promise<void> {
  pick(id ?? '', { name });
  if (id === undefined) return;
  try {
    noteSession(await asking(server.patchSession(id, { model: name ?? null })));
  } finally {
    pick(id, undefined);
  }
}

// What was chosen before the conversation began goes with it, and the next one begins with the agent's own again.
export function takeChoice(): { model?: string } {
  const model = chosenModel();
  pick('', undefined);
  return model ? { model } : {};
}

export const currentAgent = (): AgentInfo | undefined => agents.value.find((agent) => agent.id === settings.value.agent) ?? agents.value[0];

// Whether there is another one than the agent's own.
export const canChoose = (agent: AgentInfo | undefined): boolean =>
  agent !== undefined && (models.value.length > 1 || models.value.some((model) => model.model !== agent.model));

// The model of an answer, if it is not its agent's own.
export function otherModel(message: Message): string | undefined {
  const agent = agents.value.find((other) => (other.name || other.id) === message.author);
  if (message.origin !== 'model' || !message.source || !agent || !canChoose(agent)) return undefined;
  // An answer that was stopped names the table of the configuration.
  const table = /^models\.(.+)$/.exec(message.source)?.[1];
  const said = table === undefined ? message.source : (models.value.find((model) => model.name === table)?.model ?? table);
  return sameModel(said, agent.model) ? undefined : said;
}
