import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

import { environment } from './run-markbase.js';

const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));

/** A playground in its own process. */
export interface RunningPlayground {
  readonly address: string;
  /** Ends it like Ctrl-C. @returns its exit status */
  end(): Promise<number | null>;
  /** Ends it at once, in the middle of whatever it does. */
  kill(): Promise<number | null>;
}

/** Starts `markbase playground` with the demo model on a free port. */
export async function startPlayground(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningPlayground> {
  const child = spawn(process.execPath, [CLI, 'playground', '--port', '0', '--no-open', ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: environment(env),
  });
  const ended = new Promise<number | null>((resolve) => {
    child.on('exit', resolve);
  });
  const address = await new Promise<string>((resolve, reject) => {
    let text = '';
    void ended.then((status) => reject(new TypeError(`the playground ended with ${status}: ${text}`)));
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      const found = /^page: (\S+)$/m.exec(text)?.[1];
      if (found) resolve(found);
    });
  });
  return {
    address,
    end() {
      child.kill('SIGINT');
      return ended;
    },
    kill() {
      child.kill('SIGKILL');
      return ended;
    },
  };
}
