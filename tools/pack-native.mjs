// Strips the addon that was built here and copies it into the platform package of this machine: `node tools/pack-native.mjs`.
// With --release, an addon is built on Linux that runs on every system with glibc 2.28 or newer; one that needs more is an error.
// The copy is not committed; it is what `pnpm pack` and the release job publish.
import { chmodSync, copyFileSync, existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { GLIBC_FLOOR, makeSysroot, neededGlibc } from './lib/old-glibc.mjs';
import { capture, findProgram, repositoryRoot, run } from './lib/process.mjs';

const runtime = path.join(repositoryRoot, 'packages/metal-runtime');
const platform = `${process.platform}-${process.arch}`;
const folder = path.join(runtime, 'npm', platform);
const target = path.join(folder, 'markbase.node');
const isRelease = process.argv.includes('--release');
const isForOldSystems = isRelease && process.platform === 'linux';

if (!existsSync(folder)) fail(`there is no platform package for ${platform} in packages/metal-runtime/npm`);
if (isForOldSystems) buildForOldSystems();
const built = path.join(runtime, isForOldSystems ? 'build/release/markbase.node' : 'build/markbase.node');
if (!existsSync(built)) fail(`${path.relative(repositoryRoot, built)} is missing: run "pnpm build" first`);

copyFileSync(built, target);
chmodSync(target, 0o755);
if (findProgram('strip') !== null) {
  // Keeps only what the dynamic linker needs: Node looks up the entry point by name.
  const stripped = capture(
    'strip',
    process.platform === 'darwin' ? ['-x', target] : ['--strip-unneeded', target],
  );
  if (stripped.status !== 0) fail(`strip failed: ${stripped.stderr.trim()}`);
}
const needs = process.platform === 'linux' ? `, needs glibc ${checkedGlibc()}` : '';
console.log(`npm/${platform}/markbase.node: ${(statSync(target).size / 1e6).toFixed(2)} MB${needs}`);

/** Builds against the headers and libraries of an old distribution, which are kept for the next build. */
function buildForOldSystems() {
  const sysroot = path.join(runtime, 'build/release/sysroot');
  if (!existsSync(path.join(sysroot, 'usr'))) {
    mkdirSync(sysroot, { recursive: true });
    const failure = makeSysroot(sysroot, process.arch === 'arm64' ? 'arm64' : 'x64');
    if (failure !== null) fail(failure);
  }
  const script = path.join(runtime, 'scripts/build-native.mjs');
  if (run(process.execPath, [script, '--sysroot', sysroot]) !== 0) process.exit(1);
}

/** What the packed addon needs. Above the floor, the build of a release fails. */
function checkedGlibc() {
  const { newest, above } = neededGlibc(target);
  if (isRelease && above.length > 0)
    fail(`markbase.node may need glibc ${GLIBC_FLOOR} at most, but needs ${above.join(', ')}`);
  return newest;
}

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(`pack-native: ${message}`);
  process.exit(1);
}
