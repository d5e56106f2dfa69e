const REDRAW_MS = 100;
const UNITS = ['B', 'kB', 'MB', 'GB', 'TB'];

/** Progress of a load. */
export interface LoadProgress {
  /** `download`: from the hub into its cache; `upload`: of weights to a GPU that has its own memory. */
  readonly stage: 'download' | 'upload';
  /** Bytes that have arrived, including those of earlier, interrupted downloads. */
  readonly doneBytes: number;
  /** Bytes of all files. */
  readonly totalBytes: number;
  /** File that the last bytes belong to; empty if there is none. */
  readonly file: string;
}

/** One line on standard error that shows the progress of a load; silent unless that is a terminal. */
export function progressLine(
  stream: Pick<NodeJS.WriteStream, 'isTTY' | 'columns' | 'write'> = process.stderr,
): (progress: LoadProgress) => void {
  if (!stream.isTTY) return () => {};
  let drawnAt = Number.NEGATIVE_INFINITY;
  let isOver = false;
  return ({ stage, doneBytes, totalBytes, file }) => {
    if (isOver) return;
    const now = performance.now();
    isOver = doneBytes >= totalBytes && stage === 'upload';
    if (now - drawnAt < REDRAW_MS && doneBytes < totalBytes) return;
    drawnAt = now;
    if (doneBytes >= totalBytes) {
      stream.write('\r\x1b[K');
      return;
    }
    const percent = totalBytes > 0 ? Math.floor((100 * doneBytes) / totalBytes) : 0;
    const what = stage === 'download' ? 'downloading' : 'copying weights to the GPU';
    const line = `${what} ${percent}% (${readableBytes(doneBytes)} of ${readableBytes(totalBytes)}) ${file}`;
    stream.write(`\r\x1b[K${line.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
  };
}

function readableBytes(bytes: number): string {
  const power = Math.min(UNITS.length - 1, bytes < 1000 ? 0 : Math.floor(Math.log10(bytes) / 3));
  return `${(bytes / 1000 ** power).toFixed(power === 0 ? 0 : 1)} ${UNITS[power]}`;
}
