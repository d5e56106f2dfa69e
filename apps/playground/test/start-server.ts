import { type ChildProcess, spawn } from 'node:child_process';
import { onTestFinished } from 'vitest';
import { CLI, environment } from './run-markbase.js';

/** A server that runs until the test ends. */
export interface Serving {
  readonly url: string;
  readonly child: ChildProcess;
  /** Status and standard error after it has ended. */
  readonly ended: Promise<{ status: number | null; stderr: string }>;
}

/** Starts `markbase serve` and waits until it listens. */
export async function serve(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Serving> {
  const child = spawn(process.execPath, [CLI, 'serve', '--port', '0', '--threads', '2', ...args], {
    env: environment(env),
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const ended = new Promise<{ status: number | null; stderr: string }>((resolve) => {
    child.on('close', (status) => resolve({ status, stderr }));
  });
  const url = await new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      const address = /at (http:\S+)\/v1/.exec(text)?.[1];
      if (address) resolve(address);
    });
    void ended.then((outcome) => reject(new TypeError(JSON.stringify(outcome))));
  });
  return { url, child, ended };
}
