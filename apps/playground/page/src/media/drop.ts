import { signal } from '@preact/signals';
import { attachFiles } from './attachments.js';

/** True while files are dragged over the page. */
export const isDropping = signal(false);

/** Attaches files that are dropped anywhere on the page; without this, the browser would leave the page to show them. */
export function installDrop(): void {
  const hasFiles = ({ dataTransfer }: DragEvent) => dataTransfer?.types.includes('Files') ?? false;
  document.addEventListener('dragover', (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    isDropping.value = true;
  });
  document.addEventListener('dragleave', ({ relatedTarget }) => {
    if (relatedTarget === null) isDropping.value = false;
  });
  document.addEventListener('drop', (event) => {
    isDropping.value = false;
    if (!hasFiles(event)) return;
    event.preventDefault();
    void attachFiles([...(event.dataTransfer?.files ?? [])]);
  });
}
