import type { Checkpoint } from '@markbase/loader';
import { formatBytes } from './output.js';
import { canRedraw } from './terminal.js';

const REDRAW_MS = 100;
/** Before, a rate would be a guess. */
const RATE_AFTER_MS = 2000;
const SECOND_MS = 1000;

/** Shows the progress of a long task. */
export interface Progress extends Disposable {
  /** @param note what is currently being worked on */
  update(done: number, total: number, note?: string): void;
  /** Shows a step whose length is unknown, with the seconds that it has taken. */
  say(step: string): void;
  /** Clears the line. */
  finish(): void;
}

/**
 * One line on standard error that is redrawn in place; silent unless standard error is a terminal.
 *
 * @param format formats amounts; default: as bytes
 */
export function startProgress(title: string, format: (amount: number) => string = formatBytes): Progress {
  if (!canRedraw(process.stderr)) {
    return { update: () => {}, say: () => {}, finish: () => {}, [Symbol.dispose]: () => {} };
  }
  let drawnAt = Number.NEGATIVE_INFINITY;
  let begin: { readonly done: number; readonly at: number } | null = null;
  let clock: NodeJS.Timeout | undefined;
  const finish = () => {
    clearInterval(clock);
    clearLine();
  };
  return {
    update(done, total, note = '') {
      clearInterval(clock);
      const now = performance.now();
      begin ??= { done, at: now };
      if (now - drawnAt < REDRAW_MS && done < total) return;
      drawnAt = now;
      const percent = total > 0 ? Math.floor((100 * done) / total) : 100;
      const elapsedMs = now - begin.at;
      const rate = elapsedMs >= RATE_AFTER_MS ? (done - begin.done) / (elapsedMs / 1000) : 0;
      const speed = rate > 0 ? `, ${format(rate)}/s, ${duration((total - done) / rate)} left` : '';
      draw(`${title} ${percent}% (${format(done)} of ${format(total)}${speed}) ${note}`);
    },
    say(step) {
      clearInterval(clock);
      const start = performance.now();
      draw(`${step} …`);
      clock = setInterval(() => {
        draw(`${step} … ${duration((performance.now() - start) / 1000)}`);
      }, SECOND_MS).unref();
    },
    finish,
    [Symbol.dispose]: finish,
  };
}

function draw(text: string): void {
  const columns = process.stderr.columns || 80;
  process.stderr.write(`\r\x1b[K${text.trimEnd().slice(0, Math.max(20, columns - 1))}`);
}

/** 9 s, 1 min 20 s, 2 h 5 min. */
function duration(seconds: number): string {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  const minutes = Math.floor(whole / 60);
  return minutes < 60
    ? `${minutes} min ${whole % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
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
  if (canRedraw(process.stderr)) process.stderr.write('\r\x1b[K');
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
