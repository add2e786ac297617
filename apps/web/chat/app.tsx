// The page: conversations on the left, one of them in the middle, what lies behind it on the right.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { Preview } from './attachments.tsx';
import { ChatView } from './chat_view.tsx';
import { Dialogs } from './dialogs.tsx';
import { Inspector, inspectorTab } from './inspector.tsx';
import { lazy } from './lazy.tsx';
import { Sidebar, sidebarOpen } from './sidebar.tsx';
import { conversation, newConversation, page } from './state/place.ts';
import { keyWanted, reachable } from './state/server.ts';
import { sessions, titleOf } from './state/session_list.ts';
import { dismiss, toasts } from './state/toasts.ts';

const MemoryPage = lazy('Memory', () => import('./memory/memory_page.tsx').then((part) => part.MemoryPage));
const WorkflowsPage = lazy('Workflows', () => import('./workflow/workflows_page.tsx').then((part) => part.WorkflowsPage));

export const online = signal(navigator.onLine);
window.addEventListener('online', () => (online.value = true));
window.addEventListener('offline', () => (online.value = false));

export function App() {
  useShortcuts();
  const here = page.value;
  const name = nameOfPlace();
  useEffect(() => void (document.title = name ? `${name} · Tertulia` : 'Tertulia'), [name]);
  return (
    <div class="frame" data-sidebar={sidebarOpen.value} data-inspector={here === 'chat' && inspectorTab.value !== undefined}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById('main')?.focus())}>
        To the conversation
      </a>
      <Sidebar />
      <main id="main" tabIndex={-1}>
        <ConnectionBar />
        {here === 'chat' && <ChatView />}
        {here === 'memory' && <MemoryPage />}
        {here === 'workflows' && <WorkflowsPage />}
      </main>
      {here === 'chat' && <Inspector />}
      <Dialogs />
      <Preview />
      <div class="toasts" role="status" aria-live="polite">
        {toasts.value.map((toast) => (
          <div key={toast.id} class={`toast ${toast.tone}`}>
            <span>{toast.text}</span>
            <button type="button" class="icon-button" aria-label="Dismiss" onClick={() => dismiss(toast.id)}>
              <Icon name="close" size={16} />
            </button>
          </div>
        ))}
      </div>
    </div>
  );
}

// What the tab of the browser is called.
function nameOfPlace(): string {
  if (page.value !== 'chat') return page.value === 'memory' ? 'Memory' : 'Workflows';
  const here = conversation.value;
  const session = sessions.value.find(({ id }) => id === here?.id) ?? here?.session.value;
  return session ? titleOf(session) : '';
}

function ConnectionBar() {
  if (keyWanted.value) return null;
  if (reachable.value && online.value && !conversation.value?.reconnecting.value) return null;
  return (
    <div class="connection" role="status">
      <Icon name="offline" size={16} />
      {online.value
        ? 'The server cannot be reached. Trying again; what was said is safe.'
        : 'You are offline. The conversation goes on when the network is back.'}
    </div>
  );
}

function useShortcuts(): void {
  useEffect(() => {
    const pressed = (event: KeyboardEvent) => {
      const command = event.ctrlKey || event.metaKey;
      if (command && event.shiftKey && event.key.toLowerCase() === 'o') {
        event.preventDefault();
        newConversation();
        document.querySelector<HTMLElement>('.composer textarea')?.focus();
      } else if (command && event.key.toLowerCase() === 'k') {
        event.preventDefault();
        sidebarOpen.value = true;
        requestAnimationFrame(() => document.querySelector<HTMLElement>('.sidebar input')?.focus());
      } else if (command && event.key === '.') {
        event.preventDefault();
        inspectorTab.value = inspectorTab.value ? undefined : 'context';
      } else if (event.key === 'Escape' && !document.querySelector('dialog[open], [role=menu]')) {
        if (matchMedia('(max-width: 900px)').matches) sidebarOpen.value = false;
        if (matchMedia('(max-width: 1150px)').matches) inspectorTab.value = undefined;
      }
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
}
