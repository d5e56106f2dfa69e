import { formatBytes } from './output.js';

const REDRAW_MS = 100;

/** Shows how far a long task is. */
export interface Progress {
  /** @param note what is being worked on now */
  update(doneBytes: number, totalBytes: number, note?: string): void;
  /** Clears the line. */
  finish(): void;
}

/** One line on standard error that is redrawn in place; silent unless standard error is a terminal. */
export function startProgress(title: string): Progress {
  const stream = process.stderr;
  if (!stream.isTTY) return { update: () => {}, finish: () => {} };
  let drawnAt = Number.NEGATIVE_INFINITY;
  return {
    update(doneBytes, totalBytes, note = '') {
      const now = performance.now();
      if (now - drawnAt < REDRAW_MS && doneBytes < totalBytes) return;
      drawnAt = now;
      const percent = totalBytes > 0 ? Math.floor((100 * doneBytes) / totalBytes) : 100;
      const line = `${title} ${percent}% (${formatBytes(doneBytes)} of ${formatBytes(totalBytes)}) ${note}`;
      stream.write(`\r\x1b[K${line.slice(0, Math.max(20, (stream.columns ?? 80) - 1))}`);
    },
    finish() {
      stream.write('\r\x1b[K');
    },
  };
}

/** A line about what happens now, on a terminal only. */
export function note(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`);
}
