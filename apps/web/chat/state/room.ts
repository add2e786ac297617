// How much room there is: whether what stands beside the conversation lies over it.
import { signal, type ReadonlySignal } from '@preact/signals';

function matching(query: string): ReadonlySignal<boolean> {
  const list = matchMedia(query);
  const now = signal(list.matches);
  list.addEventListener('change', () => (now.value = list.matches));
  return now;
}

// As the style sheets have them.
export const sidebarCovers = matching('(max-width: 900px)');
export const inspectorCovers = matching('(max-width: 1150px)');
