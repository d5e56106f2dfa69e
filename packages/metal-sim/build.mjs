// Builds the tools that run Metal code on Linux: `node packages/metal-sim/build.mjs [--asan] [--coverage] [--sample]`.
//   default     packages/metal-runtime/build/markbase-sim.node: the addon with the Metal backend over the simulator
//   --sample    packages/metal-sim/build/sample, a small host program, instead of the addon
//   --cuda      packages/metal-sim/build/libcuda-sim.so, a stand-in for NVIDIA's driver
//   --host X.mm a program from your own host source, at build/X
// Only files that changed are compiled again.
import { existsSync } from 'node:fs';
import path from 'node:path';
import { missingTools } from './tools/clang.mjs';
import { buildTarget } from './tools/compile.mjs';
import {
  addonTarget,
  BuildError,
  cudaTarget,
  hostTarget,
  packageRoot,
  runtimeRoot,
} from './tools/targets.mjs';

const flags = new Set(process.argv.slice(2).filter((word) => word.startsWith('--')));
const words = process.argv.slice(2).filter((word) => !word.startsWith('--'));
const mode = flags.has('--asan') ? 'asan' : flags.has('--coverage') ? 'coverage' : 'plain';

const missing = missingTools();
if (missing !== null) {
  console.log(`metal-sim: skipped: ${missing}`);
  if (flags.has('--strict')) process.exitCode = 1;
} else {
  const started = Date.now();
  const isHost = flags.has('--sample') || flags.has('--host');
  const source = words[0] ?? path.join(packageRoot, 'sample/host.mm');
  if (!isHost && !existsSync(path.join(runtimeRoot, 'native')))
    throw new BuildError('no metal-runtime next to metal-sim');
  const target = isHost
    ? hostTarget(source, mode)
    : flags.has('--cuda')
      ? cudaTarget(mode)
      : addonTarget(mode);
  const built = await buildTarget(target);
  const seconds = ((Date.now() - started) / 1000).toFixed(1);
  if (built.isOk)
    console.log(
      `${path.relative(process.cwd(), target.output)} (${built.compiled} files compiled, ${seconds} s)`,
    );
  else console.error(built.message);
  process.exitCode = built.isOk ? 0 : 1;
}
