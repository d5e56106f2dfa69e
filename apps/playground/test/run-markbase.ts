import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';

/** The built command. */
export const CLI = fileURLToPath(new URL('../dist/cli.js', import.meta.url));
const REPOSITORY = fileURLToPath(new URL('../../..', import.meta.url));

/** The environment of a command: servers and chats leave nothing in the home folder. */
export function environment(env: Readonly<Record<string, string>> = {}): NodeJS.ProcessEnv {
  return { ...process.env, XDG_STATE_HOME: temporaryFolder(), ...env };
}

/** The result of running the command. */
export interface Outcome {
  readonly status: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs the built command as a user would, with pipes instead of a terminal. */
export async function markbase(
  args: readonly string[],
  options: { interruptOn?: RegExp; env?: Readonly<Record<string, string>> } = {},
): Promise<Outcome> {
  const child = spawn(process.execPath, [CLI, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: environment(options.env),
  });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream].setEncoding('utf8').on('data', (text: string) => {
      output[stream] += text;
      if (!child.killed && options.interruptOn?.test(output[stream])) child.kill('SIGINT');
    });
  }
  const status = await new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { status, ...output };
}

/** Runs a command that must succeed silently, and parses what it prints. */
export async function markbaseJson<Result>(
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<Result> {
  const { status, stdout, stderr } = await markbase([...args, '--json'], { env });
  if (status !== 0 || stderr !== '') {
    throw new TypeError(`markbase ${args.join(' ')} ended with ${status}: ${stderr}`);
  }
  return JSON.parse(stdout) as Result;
}

/** Path of a checkpoint among the fixtures. */
export function fixture(name: string): string {
  return join(process.env.MARKBASE_FIXTURES ?? join(REPOSITORY, 'fixtures'), name);
}

/** A tiny checkpoint with random weights and the demo model's vocabulary, so that it can generate text. */
export async function talkingModel(): Promise<string> {
  const folder = temporaryFolder();
  await markbaseJson(['synth', '--variant', 'e2b', '--tiny', '--out', folder]);
  for (const name of ['tokenizer.json', 'tokenizer_config.json']) {
    await copyFile(join(DEMO_MODEL, name), join(folder, name));
  }
  return folder;
}

/** The demo model of the repository. */
export const DEMO_MODEL = join(REPOSITORY, 'packages', 'demo-model', 'model');

/** True if the demo model exists. */
export const hasDemoModel = existsSync(join(DEMO_MODEL, 'config.json'));
