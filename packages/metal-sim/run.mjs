// Runs one kernel of a Metal file: `node packages/metal-sim/run.mjs file.metal kernel [--groups 1] [--threads 64]
// [--elements 64] [--order reverse] [--check] [--fast]`. Buffer 0 holds the numbers 0, 1, 2, ...; buffer 1 has the same number of elements
// for the output, which is printed; argument 2 is that number; threadgroup argument 0 has 256 bytes.
import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { missingTools } from './tools/clang.mjs';
import { buildTarget } from './tools/compile.mjs';
import { hostTarget, packageRoot } from './tools/targets.mjs';

const args = process.argv.slice(2);
const [file, kernel] = args;

/** @param {string} name @param {string} fallback */
function option(name, fallback) {
  const index = args.indexOf(name);
  return index < 0 ? fallback : (args[index + 1] ?? fallback);
}

const missing = missingTools();
if (missing !== null || file === undefined || kernel === undefined) {
  console.error(
    missing ?? 'usage: run.mjs file.metal kernel [--groups 1] [--threads 64] [--elements 64] [--check]',
  );
  process.exitCode = 2;
} else {
  const target = hostTarget(path.join(packageRoot, 'sample/run_kernel.mm'), 'plain');
  const built = await buildTarget(target);
  if (!built.isOk) {
    console.error(built.message);
    process.exit(1);
  }
  const sizes = [option('--groups', '1'), option('--threads', '64'), option('--elements', '64')];
  /** @type {NodeJS.ProcessEnv} */
  const env = { ...process.env, METAL_SIM_ORDER: option('--order', 'forward') };
  if (args.includes('--check')) env.METAL_SIM_CHECK = '1';
  const words = [file, kernel, ...sizes, args.includes('--fast') ? 'fast' : 'safe'];
  process.exitCode = spawnSync(target.output, words, { stdio: 'inherit', env }).status ?? 1;
}
