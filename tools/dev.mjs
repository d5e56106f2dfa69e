// `pnpm dev [options of markbase playground]`: rebuilds packages and addon when their sources change, serves the page from its
// sources, and restarts the playground after each build. Ctrl-C ends all of it.
import { spawn } from 'node:child_process';
import { existsSync, readdirSync, watch } from 'node:fs';
import path from 'node:path';
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { repositoryRoot } from './lib/process.mjs';

/** Builds write many files: the playground waits until none was written for this many milliseconds. */
const QUIET_MS = 500;
const bin = path.join(repositoryRoot, 'node_modules/.bin');
const given = process.argv.slice(2).filter((word, index) => index > 0 || word !== '--');

const built = ensureInstalled() || buildAll();
if (built !== 0) {
  console.error('dev: the installation or the build failed; the lines above say why');
  process.exit(built);
}

/** @param {string} program @param {string[]} args */
function start(program, args) {
  return spawn(program, args, { cwd: repositoryRoot, stdio: ['ignore', 'inherit', 'inherit'] });
}

const builder = start(path.join(bin, 'turbo'), [
  'watch',
  'build',
  'build:native',
  '--output-logs=errors-only',
]);
const page = start(path.join(bin, 'vite'), ['apps/playground/page', '--open']);
let playground = startPlayground();

function startPlayground() {
  const child = start(process.execPath, ['apps/playground/dist/cli.js', 'playground', '--no-open', ...given]);
  // If it fails because its code is broken, it waits for the next build.
  child.once('exit', () => {
    if (child.killed) playground = startPlayground();
  });
  return child;
}

/** @type {NodeJS.Timeout | undefined} */
let timer;
for (const folder of builtFolders()) {
  watch(folder, () => {
    clearTimeout(timer);
    timer = setTimeout(restart, QUIET_MS);
  });
}

/** Ends the playground; its exit starts the next one. */
function restart() {
  console.log('dev: rebuilt; restarting the playground');
  const hasEnded = playground.exitCode !== null || playground.signalCode !== null;
  if (hasEnded) playground = startPlayground();
  else playground.kill('SIGTERM');
}

/** Output folders of packages and addon; not of the page, which vite serves from its sources. */
function builtFolders() {
  const packages = readdirSync(path.join(repositoryRoot, 'packages')).map((name) => `packages/${name}/dist`);
  return [...packages, 'packages/metal-runtime/build', 'apps/playground/dist']
    .map((folder) => path.join(repositoryRoot, folder))
    .filter((folder) => existsSync(folder));
}

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
  process.on(signal, () => {
    for (const child of [builder, page, playground]) child.kill('SIGTERM');
    process.exit(0);
  });
}
