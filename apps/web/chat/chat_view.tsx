// The middle of the page: the head of the conversation, its thread, and the place to write.
import { branchName } from '../shared/branches.ts';
import { Icon } from '../shared/icons.tsx';
import { sentence } from '../shared/words.ts';
import { Composer } from './composer.tsx';
import { inspectorTab, toggleInspector } from './inspector.tsx';
import { showSidebar, sidebarOpen } from './sidebar.tsx';
import { setDraft } from './state/draft.ts';
import { chosenModel, currentAgent } from './state/models.ts';
import { conversation, newConversation } from './state/place.ts';
import { models } from './state/server.ts';
import { sessions, titleOf } from './state/session_list.ts';
import { Thread } from './thread.tsx';
import type { Conversation } from './state/conversation.ts';

export function ChatView() {
  const here = conversation.value;
  const failed = here?.state.value === 'failed';
  // Where there is none, what one writes begins one; where it could not be read, it has to be read first.
  const missing = failed && isMissing(here);
  return (
    <>
      <Head here={here} />
      {!here && <Welcome />}
      {here && here.state.value === 'loading' && <Loading />}
      {here && failed && <Failed here={here} />}
      {here && here.state.value === 'ready' && <Thread key={`${here.id}/${here.branch}`} here={here} />}
      {(!failed || missing) && <Composer here={missing ? undefined : here} />}
    </>
  );
}

function Head({ here }: { here: Conversation | undefined }) {
  // The list hears first of a new name.
  const session = sessions.value.find((other) => other.id === here?.id) ?? here?.session.value;
  const branch = here?.branches.find((other) => other.id === here.branch);
  return (
    <header class="head">
      {!sidebarOpen.value && (
        <>
          <button type="button" class="icon-button show-sidebar" aria-label="Show conversations" title="Conversations" onClick={() => showSidebar(true)}>
            <Icon name="menu" />
          </button>
          <button type="button" class="icon-button" aria-label="New conversation" title="New conversation" onClick={newConversation}>
            <Icon name="plus" />
          </button>
        </>
      )}
      <h1 dir="auto">{session ? titleOf(session) : here ? (here.state.value === 'failed' ? 'Conversation' : 'Opening…') : 'New conversation'}</h1>
      {branch && here!.branches.length > 1 && (
        <button type="button" class="chip" aria-label={`Branch: ${branchName(branch)}`} title="The branch you are in" onClick={() => toggleInspector('branches')}>
          <Icon name="branch" size={14} /> <span>{branchName(branch)}</span>
        </button>
      )}
      {session?.status === 'closed' && <span class="chip quiet">closed</span>}
      <span class="space" />
      {here && here.state.value !== 'failed' && (
        <>
          <button type="button" class="head-button" aria-label="Branches" title="The ways this conversation took" aria-pressed={inspectorTab.value === 'branches'} onClick={() => toggleInspector('branches')}>
            <Icon name="tree" /> <span>Branches</span>
          </button>
          <button type="button" class="head-button" aria-label="Context" title="What the model was shown" aria-pressed={inspectorTab.value === 'context'} onClick={() => toggleInspector('context')}>
            <Icon name="gauge" /> <span>Context</span>
          </button>
        </>
      )}
    </header>
  );
}

const kIdeas = [
  ['Do a sum', 'Add 10 and 20, then multiply the result by 5'],
  ['Ask the clock', 'What time is it, and which day?'],
  ['Be remembered', 'My name is Ana and I prefer short answers'],
] as const;

function Welcome() {
  const agent = currentAgent();
  const chosen = chosenModel();
  const model = models.value.find(({ name }) => name === chosen)?.model ?? agent?.model;
  const write = (text: string) => {
    setDraft('', text);
    document.querySelector<HTMLElement>('.composer textarea')?.focus();
  };
  return (
    <section class="welcome">
      <p class="greeting">{greeting()}</p>
      <p class="under">
        {model === 'offline' ? (
          <>
            You talk to the <b>offline model</b>: it does sums, reads the clock, remembers what you tell it and quotes your documents, all without a network. For real answers, configure a model.
          </>
        ) : agent ? (
          <>
            You talk to <b>{agent.name || agent.id}</b>, with the model {model}.
          </>
        ) : (
          'What would you like to talk about?'
        )}{' '}
        Every conversation is kept, and every answer can be taken another way.
      </p>
      <ul class="ideas">
        {kIdeas.map(([name, text]) => (
          <li key={name}>
            <button type="button" onClick={() => write(text)}>
              <b>{name}</b>
              <span>{text}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function greeting(): string {
  const hour = new Date().getHours();
  if (hour < 5) return 'Still awake?';
  if (hour < 12) return 'Good morning.';
  if (hour < 18) return 'Good afternoon.';
  return 'Good evening.';
}

function Loading() {
  return (
    <div class="thread-loading" aria-busy="true" aria-label="Loading the conversation">
      <div class="skeleton bubble" />
      <div class="skeleton" style={{ width: '92%' }} />
      <div class="skeleton" style={{ width: '80%' }} />
      <div class="skeleton" style={{ width: '56%' }} />
    </div>
  );
}

const isMissing = (here: Conversation): boolean => here.problem.value?.code === 'no_session' || here.problem.value?.code === 'no_branch';

function Failed({ here }: { here: Conversation }) {
  const problem = here.problem.value;
  const missing = isMissing(here);
  return (
    <section class="welcome">
      <p class="greeting">{missing ? 'This conversation is not here.' : 'That did not work.'}</p>
      <p class="under">
        {missing ? 'It may have been deleted, or it belongs to somebody else.' : sentence(problem?.message ?? '')}
      </p>
      <p>
        <button type="button" class="solid" onClick={missing ? newConversation : () => void reopen(here)}>
          {missing ? 'Begin a new one' : 'Try again'}
        </button>
      </p>
    </section>
  );
}

function reopen(here: Conversation): Promise<void> {
  here.state.value = 'loading';
  return here.open();
}
