import { signal } from '@preact/signals';

/** Panels beside the chat. */
export type PanelName = 'model' | 'settings' | 'performance';

/** The panel that is open; null = the chat has all the room. */
export const openPanel = signal<PanelName | null>(null);

let opener: HTMLElement | null = null;

/** Opens a panel, or closes it when it is open. */
export function togglePanel(name: PanelName): void {
  if (openPanel.value === name) {
    closePanel();
    return;
  }
  opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  openPanel.value = name;
}

/** Closes the panel; the keyboard is back where it was before. */
export function closePanel(): void {
  openPanel.value = null;
  opener?.focus();
}
