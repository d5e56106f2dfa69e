export { formatBytes, table } from '@markbase/loader/cli';

/** Writes a value as JSON, and nothing else, to standard output. */
export function printJson(value: unknown): void {
  process.stdout.write(`${JSON.stringify(value, null, 2)}\n`);
}

/** Writes lines of text to standard output. */
export function printLines(lines: readonly string[]): void {
  process.stdout.write(`${lines.join('\n')}\n`);
}
