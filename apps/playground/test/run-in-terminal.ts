import { execFileSync, spawn } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { CLI, environment } from './run-markbase.js';

/** True where `script` of util-linux makes pseudo-terminals. */
export const hasTerminals = canMakeTerminals();

const LONGEST_MS = 30_000;

/** Keys to press once a text has appeared since the last ones. */
export interface Keys {
  readonly after: RegExp;
  readonly press: string;
}

/** Runs the built command in a pseudo-terminal of 60 columns, and presses keys. @returns what it wrote, without control sequences */
export async function inTerminal(
  args: readonly string[],
  keys: readonly Keys[],
  env: Readonly<Record<string, string>> = {},
): Promise<{ readonly status: number | null; readonly text: string; readonly raw: string }> {
  const words = [process.execPath, CLI, ...args].map((word) => `'${word}'`).join(' ');
  const child = spawn('script', ['-qefc', `stty cols 60 rows 24; exec ${words}`, '/dev/null'], {
    env: environment({ TERM: 'xterm', MARKBASE_CONFIG: '', NO_COLOR: '', ...env }),
  });
  const waiting = [...keys];
  let raw = '';
  let seen = 0;
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    raw += piece;
    const next = waiting[0];
    if (!next?.after.test(stripVTControlCharacters(raw.slice(seen)))) return;
    waiting.shift();
    seen = raw.length;
    child.stdin.write(next.press);
  });
  // What waits for a text that does not come would wait for ever.
  const guard = setTimeout(() => child.kill('SIGKILL'), LONGEST_MS);
  const status = await new Promise<number | null>((resolve) => {
    child.on('close', resolve);
  });
  clearTimeout(guard);
  return { status, text: stripVTControlCharacters(raw).replaceAll('\r', ''), raw };
}

function canMakeTerminals(): boolean {
  try {
    return execFileSync('script', ['--version'], { encoding: 'utf8' }).includes('util-linux');
  } catch {
    return false;
  }
}
