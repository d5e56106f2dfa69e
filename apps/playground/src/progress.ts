import type { Checkpoint } from '@markbase/loader';
import { formatBytes } from './output.js';

const REDRAW_MS = 100;

/** Shows the progress of a long task. */
export interface Progress {
  /** @param note what is currently being worked on */
  update(done: number, total: number, note?: string): void;
  /** Clears the line. */
  finish(): void;
}

/**
 * One line on standard error that is redrawn in place; silent unless standard error is a terminal.
 *
 * @param format formats amounts; default: as bytes
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
 * Shows the progress of copying weights to a GPU, for the `onProgress` option of models, which is still called after
 * the load. Other output to a terminal must go through `note`, or call `clearLine` first.
 */
export function startUploadProgress(): {
  update(progress: { readonly arrivedBytes: number; readonly totalBytes: number }): void;
  /** Clears the line; later updates are ignored. */
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

/** Clears a progress line on the terminal. */
export function clearLine(): void {
  if (process.stderr.isTTY) process.stderr.write('\r\x1b[K');
}

/** Prints a warning, also where nobody is at a terminal. */
export function warn(text: string): void {
  clearLine();
  process.stderr.write(`warning: ${text}\n`);
}

/** Prints a status line, on a terminal only. */
export function note(text: string): void {
  clearLine();
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`);
}

/** Writes what was noticed about the files of a checkpoint to standard error, also where nobody looks at a terminal. */
export function writeFindings({ findings }: Pick<Checkpoint, 'findings'>): void {
  clearLine();
  for (const { level, message } of findings) process.stderr.write(`${level}: ${message}\n`);
}
