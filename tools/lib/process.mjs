import { spawnSync } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** Absolute path of the checkout. */
export const repositoryRoot = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');

/** Environment for child processes: no telemetry, no update notices, tools of the workspace first in PATH. */
const quietEnvironment = {
  ...process.env,
  TURBO_TELEMETRY_DISABLED: '1',
  TURBO_NO_UPDATE_NOTIFIER: '1',
  DO_NOT_TRACK: '1',
  NO_UPDATE_NOTIFIER: '1',
  // Otherwise pnpm would warn in every task that platform packages for other machines do not match this one.
  npm_config_loglevel: 'error',
  npm_config_update_notifier: 'false',
  npm_config_fund: 'false',
  npm_config_audit: 'false',
  // pnpm's would let what is tried outside of the workspace find the packages inside.
  NODE_PATH: undefined,
  PATH: [path.join(repositoryRoot, 'node_modules/.bin'), process.env.PATH].join(path.delimiter),
};

/**
 * Runs a program and waits for it, passing its output through.
 *
 * @param {string} program Name or path; no shell is involved.
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined>, input?: string }} [options]
 * @returns {number} Exit status; 127 if the program could not be started, 1 if a signal ended it.
 */
export function run(program, args, options = {}) {
  const result = spawnSync(program, [...args], {
    cwd: options.cwd ?? repositoryRoot,
    env: { ...quietEnvironment, ...options.env },
    stdio: ['ignore', 'inherit', 'inherit'],
  });
  if (result.error) {
    console.error(`${program}: ${result.error.message}`);
    return 127;
  }
  return result.status ?? 1;
}

/**
 * Runs a program and returns its output.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined> }} [options]
 * @returns {{ status: number, stdout: string, stderr: string }}
 */
export function capture(program, args, options = {}) {
  const result = spawnSync(program, [...args], {
    cwd: options.cwd ?? repositoryRoot,
    env: { ...quietEnvironment, ...options.env },
    stdio: ['ignore', 'pipe', 'pipe'],
    encoding: 'utf8',
    maxBuffer: 64 * 2 ** 20,
  });
  const reason = result.error ? `${program}: ${result.error.message}` : '';
  return {
    status: result.error ? 127 : (result.status ?? 1),
    stdout: result.stdout ?? '',
    stderr: (result.stderr ?? '') + reason,
  };
}

/**
 * Runs a program that must succeed, and returns what it wrote to its standard output.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ cwd?: string, env?: Record<string, string | undefined> }} [options]
 * @returns {string}
 */
export function must(program, args, options = {}) {
  const { status, stdout, stderr } = capture(program, args, options);
  if (status !== 0) throw new Error(`${program} ${args.join(' ')} failed (${status}):\n${stdout}${stderr}`);
  return stdout;
}

/**
 * Path of an executable in PATH, or null.
 *
 * @param {string} name
 */
export function findProgram(name) {
  for (const folder of (quietEnvironment.PATH ?? '').split(path.delimiter)) {
    const candidate = path.join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      return candidate;
    } catch {
      // Not in this folder.
    }
  }
  return null;
}
