import { signal } from '@preact/signals';

/** Panels next to the chat. */
export type PanelName = 'model' | 'settings' | 'performance';

/** The open panel; null if none. */
export const openPanel = signal<PanelName | null>(null);

let opener: HTMLElement | null = null;

/** Opens a panel, or closes it if it is open. */
export function togglePanel(name: PanelName): void {
  if (openPanel.value === name) {
    closePanel();
    return;
  }
  opener = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  openPanel.value = name;
}

/** Closes the panel and returns the focus to where it was. */
export function closePanel(): void {
  openPanel.value = null;
  opener?.focus();
}
