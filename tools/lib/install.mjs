import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { findProgram, repositoryRoot, run } from './process.mjs';

/**
 * Installs the dependencies unless they already match the lock file. Imports nothing from node_modules, so that
 * it works in a fresh clone.
 *
 * @returns {number} Exit status.
 */
export function ensureInstalled() {
  if (isInstalled()) return 0;
  console.log('Installing the dependencies …');
  const args = ['install', '--frozen-lockfile', '--config.confirm-modules-purge=false'];
  // `pnpm start` has put its pnpm into PATH; `node tools/start.mjs` may come without one.
  if (findProgram('pnpm') !== null) return run('pnpm', args);
  return run('npx', ['-y', `${packageManager()}`, ...args]);
}

/** True if the last installation used the current lock file. */
function isInstalled() {
  // pnpm keeps a copy of the lock file that it installed from.
  const installed = path.join(repositoryRoot, 'node_modules/.pnpm/lock.yaml');
  const wanted = path.join(repositoryRoot, 'pnpm-lock.yaml');
  return existsSync(installed) && readFileSync(installed, 'utf8') === readFileSync(wanted, 'utf8');
}

/** @returns {string} Such as "pnpm@10.34.9". */
function packageManager() {
  return JSON.parse(readFileSync(path.join(repositoryRoot, 'package.json'), 'utf8')).packageManager;
}
