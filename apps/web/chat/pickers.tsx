// Who answers, and with which model.
import { Icon } from '../shared/icons.tsx';
import type { ModelChoice } from '../shared/client.ts';
import { shortCount } from '../shared/words.ts';
import { Menu, type MenuItem } from './menu.tsx';
import type { Conversation } from './state/conversation.ts';
import { canChoose, chooseModel, chosenModel, currentAgent } from './state/models.ts';
import { trying } from './state/place.ts';
import { agents, models } from './state/server.ts';
import { changeSettings } from './state/settings.ts';

export function AgentPicker() {
  const here = currentAgent();
  if (!here) return null;
  return (
    <Menu
      up
      label={`Agent: ${here.name || here.id}`}
      face={
        <>
          <span>{here.name || here.id}</span> <Icon name="down" size={14} />
        </>
      }
      items={agents.value.map((agent) => ({
        name: agent.name || agent.id,
        hint: agent.model,
        checked: agent.id === here.id,
        run: () => changeSettings({ agent: agent.id }),
      }))}
    />
  );
}

export function ModelPicker({ here }: { here: Conversation | undefined }) {
  const agent = currentAgent();
  if (!agent || !canChoose(agent)) return null;
  const name = chosenModel(here?.id, here?.session.value);
  const choose = (model?: string) => trying(chooseModel(here?.id, model));
  return (
    <Menu
      up
      class="model-picker"
      label={name ? `Model: ${name}` : `Own model: ${agent.model}`}
      face={
        <>
          <span>{name ?? 'Own model'}</span> <Icon name="down" size={14} />
        </>
      }
      items={[
        { name: "The agent's own", hint: agent.model, checked: name === undefined, run: () => choose() },
        ...models.value.map((model) => ({ ...itemOf(model), checked: model.name === name, run: () => choose(model.name) })),
      ]}
    />
  );
}

// Beside the button for another answer: the same, from another model, and only this once.
export function AnswerAgainWith({ again }: { again: (model: string) => void }) {
  const agent = currentAgent();
  if (!agent || !canChoose(agent)) return null;
  return (
    <Menu
      label="Answer again with another model"
      title="Another answer, from another model"
      class="again-with"
      face={<Icon name="down" />}
      items={[
        { name: "The agent's own", hint: agent.model, run: () => again('') },
        ...models.value.map((model) => ({ ...itemOf(model), run: () => again(model.name) })),
      ]}
    />
  );
}

function itemOf({ name, provider, model, context_tokens, available, problem }: ModelChoice): Pick<MenuItem, 'name' | 'hint' | 'off'> {
  if (available) return { name, hint: [provider, model, `${shortCount(context_tokens)} tokens`].filter(Boolean).join(' · ') };
  return { name, off: true, hint: problem?.code === 'model_key' ? 'its key is missing on the server' : (problem?.message ?? 'cannot be used') };
}
