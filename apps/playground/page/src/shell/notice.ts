import { signal } from '@preact/signals';

/** Something that happened, and how to undo it. */
export interface Notice {
  readonly text: string;
  readonly action: string;
  act(): void;
}

/** The notice shown; null if there is none. */
export const notice = signal<Notice | null>(null);

/** Shows a notice until it is closed or replaced. */
export function showNotice(value: Notice): void {
  notice.value = value;
}

/** Closes the notice. */
export function closeNotice(): void {
  notice.value = null;
}
