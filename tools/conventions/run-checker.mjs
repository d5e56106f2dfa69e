import { capture } from '../lib/process.mjs';

/**
 * Runs a checker of node_modules over a checkout and reads the JSON that it prints. Its exit status is ignored, because any finding makes
 * it nonzero.
 *
 * @param {string} program
 * @param {readonly string[]} args
 * @param {string} root Folder to check.
 * @returns {any}
 */
export function runChecker(program, args, root) {
  const { stdout, stderr } = capture(program, args, { cwd: root });
  try {
    return JSON.parse(stdout);
  } catch {
    throw new Error(`${program} printed no JSON; run "pnpm install" if it is missing.\n${stderr}${stdout}`);
  }
}
