// Strips the local addon and copies it into the platform package of this machine: `node tools/pack-native.mjs`. The copy is not committed;
// `pnpm pack` and the release job publish it.
import { chmodSync, copyFileSync, existsSync, statSync } from 'node:fs';
import path from 'node:path';
import { capture, findProgram, repositoryRoot } from './lib/process.mjs';

const runtime = path.join(repositoryRoot, 'packages/metal-runtime');
const platform = `${process.platform}-${process.arch}`;
const built = path.join(runtime, 'build/markbase.node');
const folder = path.join(runtime, 'npm', platform);
const target = path.join(folder, 'markbase.node');

if (!existsSync(folder)) fail(`there is no platform package for ${platform} in packages/metal-runtime/npm`);
if (!existsSync(built)) fail('packages/metal-runtime/build/markbase.node is missing: run "pnpm build" first');

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
console.log(`npm/${platform}/markbase.node: ${(statSync(target).size / 1e6).toFixed(2)} MB`);

/** @param {string} message @returns {never} */
function fail(message) {
  console.error(`pack-native: ${message}`);
  process.exit(1);
}
