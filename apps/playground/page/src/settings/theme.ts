import { signal } from '@preact/signals';
import { readStored, store } from './storage.js';

/** Colour theme of the page; `auto` follows the system. */
export type Theme = 'auto' | 'light' | 'dark';

const KEY = 'markbase.theme';
const THEMES: readonly Theme[] = ['auto', 'light', 'dark'];

/** The chosen theme. */
export const theme = signal<Theme>(THEMES.find((name) => name === readStored<Theme>(KEY)) ?? 'auto');

theme.subscribe((value) => {
  store(KEY, value);
  if (value === 'auto') delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = value;
});

/** True if the page is currently dark. */
function isDark(): boolean {
  return (
    theme.value === 'dark' || (theme.value === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches)
  );
}

/** Switches between dark and light; the page then no longer follows the system. */
export function toggleTheme(): void {
  theme.value = isDark() ? 'light' : 'dark';
}
