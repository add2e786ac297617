import { signal } from '@preact/signals';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Icon, type IconName } from '../shared/icons.tsx';
import type { Session } from '../shared/client.ts';
import { sentence } from '../shared/words.ts';
import { ask, openSettings } from './dialogs.tsx';
import { Menu } from './menu.tsx';
import { SaidBefore } from './said_before.tsx';
import { addressOf, conversation, newConversation, page, trying, type Page } from './state/place.ts';
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

const isNarrow = () => matchMedia('(max-width: 900px)').matches;
export const sidebarOpen = signal(!isNarrow());

const closeIfNarrow = () => {
  if (isNarrow()) sidebarOpen.value = false;
};

export function Sidebar() {
  return (
    <>
      {sidebarOpen.value && <div class="scrim" onClick={() => (sidebarOpen.value = false)} />}
      <nav class="sidebar" aria-label="Conversations" inert={!sidebarOpen.value}>
        <header>
          <a class="wordmark" href="#/" onClick={(event) => (event.preventDefault(), newConversation(), closeIfNarrow())}>
            Tertulia
          </a>
          <button type="button" class="icon-button" aria-label="Hide conversations" title="Hide" onClick={() => (sidebarOpen.value = false)}>
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
  const [renaming, setRenaming] = useState(false);
  // Of several beginnings the latest stands for all of them.
  const open = conversation.value?.session.value;
  const here = page.value === 'chat' && open !== undefined && rootOf(open) === rootOf(session);
  const title = session.damaged ? `${session.id} (damaged)` : titleOf(session);
  if (renaming) return <RenameRow session={session} done={() => setRenaming(false)} />;
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
  return (
    <li class={here ? 'here' : ''}>
      <a href={addressOf(session.id)} aria-current={here ? 'page' : undefined} title={title} onClick={closeIfNarrow}>
        {isPinned(session) && <Icon name="pin" size={14} />}
        <span dir="auto">{title}</span>
      </a>
      <Menu
        label={`More for ${title}`}
        items={[
          { name: 'Rename', icon: 'edit', run: () => setRenaming(true) },
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

function RenameRow({ session, done }: { session: Session; done: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  useEffect(() => field.current?.select(), []);
  const finish = () => {
    const title = field.current?.value.trim();
    done();
    if (title && title !== titleOf(session)) trying(renameSession(session.id, title));
  };
  return (
    <li class="here">
      <input
        ref={field}
        class="rename"
        aria-label="Name of the conversation"
        maxLength={120}
        defaultValue={titleOf(session)}
        onBlur={finish}
        onKeyDown={(event) => {
          if (event.key === 'Enter') finish();
          if (event.key === 'Escape') done();
        }}
      />
    </li>
  );
}
