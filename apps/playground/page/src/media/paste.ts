import { attachFiles, attachPaste } from './attachments.js';

/** Attaches files that are pasted anywhere on the page, and long text that is pasted into the message. */
export function installPaste(): void {
  document.addEventListener('paste', (event) => {
    const { target, clipboardData } = event;
    const files = [...(clipboardData?.files ?? [])];
    if (files.length > 0) {
      event.preventDefault();
      void attachFiles(files);
      return;
    }
    const isElsewhere =
      target instanceof Element &&
      target.id !== 'draft' &&
      target.closest('input, textarea, [contenteditable]') !== null;
    if (!isElsewhere && attachPaste(clipboardData?.getData('text/plain') ?? '')) event.preventDefault();
  });
}
