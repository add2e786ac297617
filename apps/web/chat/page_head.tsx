import { Icon } from '../shared/icons.tsx';
import { showSidebar, sidebarOpen } from './sidebar.tsx';

export function PageHead({ title }: { title: string }) {
  return (
    <header class="head">
      {!sidebarOpen.value && (
        <button type="button" class="icon-button show-sidebar" aria-label="Show conversations" title="Conversations" onClick={() => showSidebar(true)}>
          <Icon name="menu" />
        </button>
      )}
      <h1>{title}</h1>
    </header>
  );
}
