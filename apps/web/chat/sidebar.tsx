import { signal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import { Icon, type IconName } from '../shared/icons.tsx';
import type { Session } from '../shared/client.ts';
import { sentence } from '../shared/words.ts';
import { ask, openSettings } from './dialogs.tsx';
import { Menu } from './menu.tsx';
import { NameField, useRenaming } from './name_field.tsx';
import { SaidBefore } from './said_before.tsx';
import { addressOf, conversation, newConversation, page, trying, type Page } from './state/place.ts';
import { sidebarCovers } from './state/room.ts';
import {
  deleteSession,
  familyOf,
  grouped,
  hasMore,
  isPinned,
  listProblem,
  listState,
  loadFamily,
  loadMoreSessions,
  loadSessions,
  pinSession,
  renameSession,
  rootOf,
  search,
  sessions,
  titleOf,
} from './state/session_list.ts';

export const sidebarOpen = signal(!sidebarCovers.value);

// The keyboard goes along: into the list, or to the button that brings it back.
export function showSidebar(open: boolean, focus = open ? '.sidebar .new' : '.head .show-sidebar'): void {
  sidebarOpen.value = open;
  // Drawn by then.
  queueMicrotask(() => document.querySelector<HTMLElement>(focus)?.focus());
}

const closeIfNarrow = () => {
  if (sidebarCovers.value) showSidebar(false, '#main');
};

export function Sidebar({ covered }: { covered: boolean }) {
  return (
    <>
      {sidebarOpen.value && <div class="scrim" onClick={() => showSidebar(false)} />}
      <nav class="sidebar" aria-label="Conversations" inert={!sidebarOpen.value || covered}>
        <header>
          <a class="wordmark" href="#/" onClick={(event) => (event.preventDefault(), newConversation(), closeIfNarrow())}>
            Tertulia
          </a>
          <button type="button" class="icon-button" aria-label="Hide conversations" title="Hide" onClick={() => showSidebar(false)}>
            <Icon name="left" />
          </button>
        </header>
        <button type="button" class="new" onClick={() => (newConversation(), closeIfNarrow())}>
          <Icon name="plus" /> New conversation
        </button>
        <label class="search">
          <Icon name="search" size={16} />
          <input
            type="search"
            placeholder="Search"
            aria-label="Search conversations"
            value={search.value}
            onInput={(event) => (search.value = event.currentTarget.value)}
          />
        </label>
        <SessionList />
        <footer>
          <PageLink to="memory" icon="memory" name="Memory" />
          <PageLink to="workflows" icon="flow" name="Workflows" />
          <button type="button" onClick={openSettings}>
            <Icon name="settings" /> Settings
          </button>
        </footer>
      </nav>
    </>
  );
}

function PageLink({ to, icon, name }: { to: Page; icon: IconName; name: string }) {
  return (
    <a href={`#/${to}`} aria-current={page.value === to ? 'page' : undefined} onClick={closeIfNarrow}>
      <Icon name={icon} /> {name}
    </a>
  );
}

function SessionList() {
  const list = useRef<HTMLDivElement>(null);
  // A search looks through everything: the pages that have not been read yet come in one after the other.
  useEffect(() => {
    if (search.value && hasMore.value) trying(loadMoreSessions());
  }, [search.value, sessions.value]);
  if (listState.value === 'loading') {
    return (
      <div class="sessions" aria-busy="true" aria-label="Loading conversations">
        {[72, 54, 64, 40].map((width) => (
          <div key={width} class="skeleton" style={{ width: `${width}%` }} />
        ))}
      </div>
    );
  }
  if (listState.value === 'failed') {
    return (
      <div class="sessions hint">
        <p>{sentence(listProblem.value?.message ?? 'The conversations could not be read')}</p>
        <button type="button" class="plain" onClick={() => void loadSessions()}>
          Try again
        </button>
      </div>
    );
  }
  const groups = grouped(sessions.value, search.value, Date.now());
  const scrolled = () => {
    const box = list.current;
    if (box && hasMore.value && box.scrollHeight - box.scrollTop - box.clientHeight < 400) trying(loadMoreSessions());
  };
  return (
    <div class="sessions" ref={list} onScroll={scrolled}>
      {groups.length === 0 && (
        <p class="hint">{search.value ? `Nothing is called “${search.value}”.` : 'Conversations you begin are kept here.'}</p>
      )}
      {groups.map((group) => (
        <section key={group.name} aria-label={group.name}>
          <h2>{group.name}</h2>
          <ul>
            {group.sessions.map((session) => (
              <SessionRow key={session.id} session={session} />
            ))}
          </ul>
        </section>
      ))}
      {search.value && <SaidBefore query={search.value} chosen={closeIfNarrow} />}
    </div>
  );
}

function SessionRow({ session }: { session: Session }) {
  const { renaming, face, begin, end } = useRenaming<HTMLAnchorElement>();
  // Of several beginnings the latest stands for all of them.
  const open = conversation.value?.session.value;
  const here = page.value === 'chat' && open !== undefined && rootOf(open) === rootOf(session);
  const title = session.damaged ? `${session.id} (damaged)` : titleOf(session);
  const remove = async () => {
    if (!session.damaged) await loadFamily(session);
    const others = familyOf(session).length - 1;
    const begun = others > 0 ? `, the ${others === 1 ? 'other way' : `${others} other ways`} it was begun,` : '';
    const yes = await ask({
      title: 'Delete this conversation?',
      text: `“${title}”${begun} is erased with all its branches, files and memories of it. It cannot be brought back.`,
      action: 'Delete',
      danger: true,
    });
    if (!yes) return;
    await deleteSession(session);
    if (here) newConversation();
  };
  const renamed = (name: string | undefined, byKey: boolean) => {
    end(byKey);
    if (name) trying(renameSession(session.id, name));
  };
  if (renaming) {
    return (
      <li class="here">
        <NameField label="Name of the conversation" name={titleOf(session)} done={renamed} />
      </li>
    );
  }
  return (
    <li class={here ? 'here' : ''}>
      <a ref={face} href={addressOf(session.id)} aria-current={here ? 'page' : undefined} title={title} onClick={closeIfNarrow}>
        {isPinned(session) && <Icon name="pin" size={14} />}
        <span dir="auto">{title}</span>
      </a>
      <Menu
        label={`More for ${title}`}
        items={[
          { name: 'Rename', icon: 'edit', run: begin },
          {
            name: isPinned(session) ? 'Unpin' : 'Pin',
            icon: 'pin',
            run: () => trying(pinSession(session, !isPinned(session))),
          },
          { name: 'Delete', icon: 'trash', danger: true, run: () => trying(remove()) },
        ]}
      />
    </li>
  );
}
