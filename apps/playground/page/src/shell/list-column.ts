import { computed, signal } from '@preact/signals';
import { readStored, store } from '../settings/storage.js';

const KEY = 'markbase.list';
const narrow = matchMedia('(max-width: 999px)');

/** True if there is no room for a column next to the chat: the list of conversations is then a drawer. */
export const isNarrow = signal(narrow.matches);
const isColumnShown = signal(readStored<boolean>(KEY) ?? true);
const isDrawerOpen = signal(false);

/** True while the list of conversations is shown. */
export const isListShown = computed(() => (isNarrow.value ? isDrawerOpen.value : isColumnShown.value));

narrow.addEventListener('change', ({ matches }) => {
  isNarrow.value = matches;
  isDrawerOpen.value = false;
});

/** Shows or hides the list of conversations. A column stays as it was at the next visit. */
export function toggleList(): void {
  if (isNarrow.value) {
    isDrawerOpen.value = !isDrawerOpen.value;
    return;
  }
  isColumnShown.value = !isColumnShown.value;
  store(KEY, isColumnShown.value);
}

/** Closes the drawer, if there is one. */
export function closeDrawer(): void {
  isDrawerOpen.value = false;
}
