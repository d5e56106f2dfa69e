import { capture } from './process.mjs';

/**
 * Builds every package and the native addon; unchanged parts come from turbo's cache. Output is shown only on failure.
 *
 * @param {readonly string[]} more Additional tasks of turbo.json.
 * @returns {number} Exit status.
 */
export function buildAll(more = []) {
  console.log('Building the packages and the native addon (about a minute the first time) …');
  const args = ['run', 'build', 'build:native', ...more, '--output-logs=errors-only', '--log-order=grouped'];
  const { status, stdout, stderr } = capture('turbo', args);
  if (status !== 0) console.error(stdout + stderr);
  return status;
}
