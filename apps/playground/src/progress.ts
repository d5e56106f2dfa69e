import { formatBytes } from './output.js';

const REDRAW_MS = 100;

/** Shows how far a long task is. */
export interface Progress {
  /** @param note what is being worked on now */
  update(done: number, total: number, note?: string): void;
  /** Clears the line. */
  finish(): void;
}

/**
 * One line on standard error that is redrawn in place; silent unless standard error is a terminal.
 *
 * @param format how amounts are written; default: as bytes
 */
export function startProgress(title: string, format: (amount: number) => string = formatBytes): Progress {
  const stream = process.stderr;
  if (!stream.isTTY) return { update: () => {}, finish: () => {} };
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    update(done, total, note = '') {
      const now = performance.now();
      if (now - drawnAt < REDRAW_MS && done < total) return;
      drawnAt = now;
      const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
      const line = `${title} ${percent}% (${format(done)} of ${format(total)}) ${note}`;
      stream.write(`\r\x1b[K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
    },
    finish: clearLine,
  };
}

/**
 * Shows how far weights are on their way to a GPU, until they are there: for `onProgress` of models, which goes on after the
 * load. Everything on a terminal that does not go through `note` needs `clearLine` before it.
 */
export function startUploadProgress(): {
  update(progress: { readonly arrivedBytes: number; readonly totalBytes: number }): void;
  /** Clears the line, and shows nothing from now on. */
  finish(): void;
} {
  const progress = startProgress('copying weights to the GPU');
  let isFinished = false;
  const finish = () => {
    if (isFinished) return;
    isFinished = true;
    progress.finish();
  };
  return {
    update({ arrivedBytes, totalBytes }) {
      if (isFinished) return;
      if (arrivedBytes < totalBytes) progress.update(arrivedBytes, totalBytes);
      else finish();
    },
    finish,
  };
}

/** Removes what progress has left on the current line of a terminal. */
export function clearLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

/** A line about what happens now, on a terminal only. */
export function note(text: string): void {
  clearLine();
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`);
}
