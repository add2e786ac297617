// Questions to the person, the settings, and the key: what stands in front of the page.
import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { agents, keyRefused, keyWanted, loadAgents, useKey } from './state/server.ts';
import { loadSessions } from './state/session_list.ts';
import { changeSettings, settings, type Settings } from './state/settings.ts';

interface Asked {
  title: string;
  text: string;
  action: string;
  danger?: boolean;
}

const asked = signal<(Asked & { answer: (yes: boolean) => void }) | undefined>(undefined);
const settingsOpen = signal(false);

export const ask = (question: Asked): Promise<boolean> =>
  new Promise((resolve) => {
    asked.value = {
      ...question,
      answer: (yes) => {
        asked.value = undefined;
        resolve(yes);
      },
    };
  });

export const openSettings = (): void => {
  settingsOpen.value = true;
};

export function Modal({ title, close, class: name, children }: { title: string; close: () => void; class?: string; children: ComponentChildren }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const box = dialog.current!;
    box.showModal();
    // Closing it gives the keyboard back to what had it before.
    return () => box.close();
  }, []);
  return (
    <dialog
      ref={dialog}
      class={name}
      aria-labelledby="dialog-title"
      onCancel={(event) => (event.preventDefault(), close())}
      onClick={(event) => event.target === dialog.current && close()}
    >
      <div class="dialog">
        <h2 id="dialog-title">{title}</h2>
        {children}
      </div>
    </dialog>
  );
}

export function Dialogs() {
  const question = asked.value;
  return (
    <>
      {question && (
        <Modal title={question.title} close={() => question.answer(false)}>
          <p>{question.text}</p>
          <div class="dialog-actions">
            <button type="button" class="plain" onClick={() => question.answer(false)}>
              Cancel
            </button>
            <button type="button" class={question.danger ? 'solid danger' : 'solid'} onClick={() => question.answer(true)}>
              {question.action}
            </button>
          </div>
        </Modal>
      )}
      {settingsOpen.value && <SettingsDialog />}
      {keyWanted.value && <KeyDialog />}
    </>
  );
}

const kThemes: { value: Settings['theme']; name: string }[] = [
  { value: 'system', name: 'As the system' },
  { value: 'light', name: 'Light' },
  { value: 'dark', name: 'Dark' },
];

function SettingsDialog() {
  const close = () => (settingsOpen.value = false);
  const { theme, enterSends, showReasoning, agent } = settings.value;
  return (
    <Modal title="Settings" close={close}>
      <fieldset class="choice">
        <legend>Appearance</legend>
        {kThemes.map(({ value, name }) => (
          <label key={value}>
            <input type="radio" name="theme" checked={theme === value} onChange={() => changeSettings({ theme: value })} />
            <span>{name}</span>
          </label>
        ))}
      </fieldset>
      <label class="switch">
        <input type="checkbox" checked={enterSends} onChange={(event) => changeSettings({ enterSends: event.currentTarget.checked })} />
        <span>
          Enter sends<small>Otherwise {kCommand}+Enter does, and Enter makes a new line.</small>
        </span>
      </label>
      <label class="switch">
        <input type="checkbox" checked={showReasoning} onChange={(event) => changeSettings({ showReasoning: event.currentTarget.checked })} />
        <span>
          Show reasoning<small>Open what the model thought before it answered.</small>
        </span>
      </label>
      {agents.value.length > 0 && (
        <label class="field">
          Agent for new messages
          <select value={agent} onChange={(event) => changeSettings({ agent: event.currentTarget.value })}>
            {agents.value.map((other) => (
              <option key={other.id} value={other.id}>
                {other.name || other.id} ({other.model})
              </option>
            ))}
          </select>
        </label>
      )}
      <dl class="keys">
        {kKeys.map(([keys, what]) => (
          <div key={keys}>
            <dt>
              <kbd>{keys}</kbd>
            </dt>
            <dd>{what}</dd>
          </div>
        ))}
      </dl>
      <div class="dialog-actions">
        <button type="button" class="solid" onClick={close}>
          Done
        </button>
      </div>
    </Modal>
  );
}

const kCommand = /Mac|iPhone|iPad/.test(navigator.platform) ? '⌘' : 'Ctrl';

const kKeys = [
  [`${kCommand} Shift O`, 'New conversation'],
  [`${kCommand} K`, 'Search conversations'],
  [`${kCommand} .`, 'Branches and context'],
  [`${kCommand} Enter`, 'Steer the answer that is being written'],
  ['Esc', 'Stop the answer'],
  ['↑', 'Edit your last message'],
] as const;

function KeyDialog() {
  const field = useRef<HTMLInputElement>(null);
  const give = (event: Event) => {
    event.preventDefault();
    useKey(field.current!.value.trim());
    void loadSessions();
    loadAgents().catch(() => {});
    window.dispatchEvent(new HashChangeEvent('hashchange'));
  };
  return (
    <Modal title="This server asks for a key" close={() => (keyWanted.value = false)}>
      <form onSubmit={give}>
        <p>
          Whoever runs it makes one with <code>tertulia keys create</code>. It is kept in this tab only.
        </p>
        {keyRefused.value && (
          <p class="bad-words" role="alert">
            That key is not valid, or not any more.
          </p>
        )}
        <label class="field">
          Key
          <input ref={field} type="password" autocomplete="off" spellcheck={false} required placeholder="tk_…" />
        </label>
        <div class="dialog-actions">
          <button type="submit" class="solid">
            <Icon name="check" size={16} /> Use it
          </button>
        </div>
      </form>
    </Modal>
  );
}
