import { spawnSync } from 'node:child_process';

const MOST_BYTES = 256 * 1024 * 1024;

/** Standard output of a program; throws with what it printed when it fails. */
export function runTool(command, args, input) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { maxBuffer: MOST_BYTES, input });
  if (status === 0) return stdout;
  throw new TypeError(`${command} ${args.join(' ')}: ${error?.message ?? stderr.toString().trim()}`);
}

/** True if the program is installed. */
export function hasTool(command) {
  return spawnSync(command, ['-version']).error === undefined;
}
