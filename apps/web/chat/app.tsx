// The page: conversations on the left, one of them in the middle, what lies behind it on the right.
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { Icon } from '../shared/icons.tsx';
import { Preview } from './attachments.tsx';
import { ChatView } from './chat_view.tsx';
import { Dialogs } from './dialogs.tsx';
import { Inspector, inspectorTab, toggleInspector } from './inspector.tsx';
import { lazy } from './lazy.tsx';
import { showSidebar, Sidebar, sidebarOpen } from './sidebar.tsx';
import { conversation, newConversation, page } from './state/place.ts';
import { inspectorCovers, sidebarCovers } from './state/room.ts';
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
  const inspecting = here === 'chat' && conversation.value !== undefined && inspectorTab.value !== undefined;
  const covered = inspecting && inspectorCovers.value;
  useEffect(() => void (document.title = name ? `${name} · Tertulia` : 'Tertulia'), [name]);
  return (
    <div class="frame" data-sidebar={sidebarOpen.value}>
      <a class="skip" href="#main" onClick={(event) => (event.preventDefault(), document.getElementById('main')?.focus())}>
        To the conversation
      </a>
      <Sidebar covered={covered} />
      <main id="main" tabIndex={-1} inert={covered || (sidebarOpen.value && sidebarCovers.value)}>
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
        showSidebar(true, '.sidebar input');
      } else if (command && event.key === '.') {
        event.preventDefault();
        toggleInspector(inspectorTab.value ?? 'context');
      } else if (event.key === 'Escape' && !document.querySelector('dialog[open], [role=menu]')) {
        if (sidebarCovers.value && sidebarOpen.value) showSidebar(false);
        if (inspectorCovers.value) inspectorTab.value = undefined;
      }
    };
    window.addEventListener('keydown', pressed);
    return () => window.removeEventListener('keydown', pressed);
  }, []);
}
