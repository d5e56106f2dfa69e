import { run } from './process.mjs';

/**
 * Builds every package and the native addon; what has not changed since the last build comes from turbo's cache.
 *
 * @returns {number} Exit status.
 */
export function buildAll() {
  console.log('Building the packages and the native addon …');
  return run('turbo', ['run', 'build', 'build:native', '--output-logs=errors-only', '--log-order=grouped']);
}
