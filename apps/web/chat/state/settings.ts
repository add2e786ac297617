import { effect, signal } from '@preact/signals';
import { keep, ownStorage, readKept } from '../../shared/storage.ts';

export interface Settings {
  theme: 'system' | 'light' | 'dark';
  // False: Enter makes a new line, and Ctrl+Enter sends.
  enterSends: boolean;
  showReasoning: boolean;
  agent: string;
}

const kDefaults: Settings = { theme: 'system', enterSends: true, showReasoning: false, agent: 'default' };

function checked(value: unknown): Settings {
  const given = (value && typeof value === 'object' ? value : {}) as Partial<Settings>;
  return {
    theme: given.theme === 'light' || given.theme === 'dark' ? given.theme : 'system',
    enterSends: given.enterSends !== false,
    showReasoning: given.showReasoning === true,
    agent: typeof given.agent === 'string' ? given.agent : kDefaults.agent,
  };
}

export const settings = signal<Settings>(readKept(ownStorage, 'tertulia.settings', checked) ?? kDefaults);

export function changeSettings(change: Partial<Settings>): void {
  settings.value = { ...settings.value, ...change };
  keep(ownStorage, 'tertulia.settings', settings.value);
}

effect(() => {
  const { theme } = settings.value;
  if (theme === 'system') delete document.documentElement.dataset['theme'];
  else document.documentElement.dataset['theme'] = theme;
});
