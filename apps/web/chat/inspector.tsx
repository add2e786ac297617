// The right side: what the model was shown, and how the branches lie.
import { signal } from '@preact/signals';
import { Icon } from '../shared/icons.tsx';
import { BranchPanel } from './branch_panel.tsx';
import { ContextPanel } from './context_panel.tsx';
import { conversation } from './state/place.ts';

export type Tab = 'context' | 'branches';

export const inspectorTab = signal<Tab | undefined>(undefined);
// The turn whose context is shown; none: the last one.
export const shownTurn = signal<string | undefined>(undefined);

export function toggleInspector(tab: Tab): void {
  shownTurn.value = undefined;
  inspectorTab.value = inspectorTab.value === tab ? undefined : tab;
}

export function showTurn(turn: string): void {
  shownTurn.value = turn;
  inspectorTab.value = 'context';
}

const kTabs: { tab: Tab; name: string }[] = [
  { tab: 'context', name: 'Context' },
  { tab: 'branches', name: 'Branches' },
];

export function Inspector() {
  const tab = inspectorTab.value;
  const here = conversation.value;
  if (!tab || !here) return null;
  return (
    <>
      <div class="scrim right" onClick={() => (inspectorTab.value = undefined)} />
      <aside class="inspector" aria-label="Behind the conversation">
        <header>
          <div class="tabs" role="tablist">
            {kTabs.map((other) => (
              <button
                key={other.tab}
                type="button"
                role="tab"
                id={`tab-${other.tab}`}
                aria-selected={tab === other.tab}
                aria-controls="inspector-panel"
                onClick={() => (inspectorTab.value = other.tab)}
              >
                {other.name}
              </button>
            ))}
          </div>
          <button type="button" class="icon-button" aria-label="Close" title="Close" onClick={() => (inspectorTab.value = undefined)}>
            <Icon name="close" />
          </button>
        </header>
        <div class="inspector-body" id="inspector-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
          {tab === 'context' ? <ContextPanel here={here} /> : <BranchPanel here={here} />}
        </div>
      </aside>
    </>
  );
}
