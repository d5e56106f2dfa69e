import { signal } from '@preact/signals';
import { newChat } from '../chat/actions.js';
import { isAnswering, stopAnswer } from '../chat/answering.js';
import { closePanel, openPanel } from './panels.js';

/** True while the list of shortcuts is shown. */
export const areShortcutsShown = signal(false);

/** Shows the list of shortcuts. */
export function showShortcuts(): void {
  areShortcutsShown.value = true;
}

/** Keyboard shortcuts that work anywhere on the page. */
export const SHORTCUTS: readonly (readonly [keys: string, action: string])[] = [
  ['Enter', 'send'],
  ['Shift + Enter', 'new line'],
  ['↑ in an empty message', 'edit your last message'],
  ['Escape', 'stop the answer, or close a panel'],
  ['/', 'focus the message field'],
  ['Alt + N', 'new chat'],
  ['?', 'show this list'],
];

/** Listens for keyboard shortcuts. */
export function installShortcuts(): void {
  document.addEventListener('keydown', (event) => {
    const isTyping =
      event.target instanceof Element && event.target.closest('input, textarea, select') !== null;
    if (event.key === 'Escape' && !areShortcutsShown.value) {
      if (isAnswering.value) stopAnswer();
      else if (openPanel.value) closePanel();
    } else if (event.altKey && event.code === 'KeyN') {
      event.preventDefault();
      newChat();
    } else if (!isTyping && event.key === '/') {
      event.preventDefault();
      document.getElementById('draft')?.focus();
    } else if (!isTyping && event.key === '?') {
      showShortcuts();
    }
  });
}
