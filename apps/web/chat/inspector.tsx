// The right side: what the model was shown, and how the branches lie.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { BranchPanel } from './branch_panel.tsx';
import { ContextPanel } from './context_panel.tsx';
import type { Conversation } from './state/conversation.ts';
import { conversation } from './state/place.ts';
import { inspectorCovers } from './state/room.ts';

export type Tab = 'context' | 'branches';

export const inspectorTab = signal<Tab | undefined>(undefined);
// The turn whose context is shown; none: the last one.
export const shownTurn = signal<string | undefined>(undefined);

// What had the keyboard when it was opened.
let opener: Element | null = null;

function show(tab: Tab | undefined): void {
  if (!inspectorTab.value) opener = document.activeElement;
  inspectorTab.value = tab;
}

export function toggleInspector(tab: Tab): void {
  shownTurn.value = undefined;
  show(inspectorTab.value === tab ? undefined : tab);
}

export function showTurn(turn: string): void {
  shownTurn.value = turn;
  show('context');
}

const kTabs: { tab: Tab; name: string }[] = [
  { tab: 'context', name: 'Context' },
  { tab: 'branches', name: 'Branches' },
];

export function Inspector() {
  const tab = inspectorTab.value;
  const here = conversation.value;
  return tab && here ? <Open tab={tab} here={here} /> : null;
}

function Open({ tab, here }: { tab: Tab; here: Conversation }) {
  const box = useRef<HTMLElement>(null);
  // Where it lies over the conversation, the keyboard goes along, and goes back when it is closed.
  useLayoutEffect(() => {
    if (inspectorCovers.value) tabOf(box.current!, tab)?.focus();
    return () => {
      // Drawn by then.
      if (box.current?.contains(document.activeElement) && opener instanceof HTMLElement) queueMicrotask(() => (opener as HTMLElement).focus());
    };
  }, []);
  // Whoever goes to another branch from there wants to see it.
  const first = useRef(here);
  useLayoutEffect(() => {
    if (first.current !== here && inspectorCovers.value) inspectorTab.value = undefined;
    first.current = here;
  }, [here]);
  const pressed = (event: KeyboardEvent) => {
    if (event.key !== 'ArrowLeft' && event.key !== 'ArrowRight') return;
    event.preventDefault();
    const other = kTabs.find((one) => one.tab !== tab)!.tab;
    inspectorTab.value = other;
    tabOf(box.current!, other)?.focus();
  };
  return (
    <>
      <div class="scrim right" onClick={() => (inspectorTab.value = undefined)} />
      <aside class="inspector" aria-label="Behind the conversation" ref={box}>
        <header>
          <div class="tabs" role="tablist" onKeyDown={pressed}>
            {kTabs.map((other) => (
              <button
                key={other.tab}
                type="button"
                role="tab"
                id={`tab-${other.tab}`}
                aria-selected={tab === other.tab}
                aria-controls="inspector-panel"
                tabIndex={tab === other.tab ? 0 : -1}
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

const tabOf = (box: HTMLElement, tab: Tab) => box.querySelector<HTMLElement>(`#tab-${tab}`);
