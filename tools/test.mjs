// `pnpm test`: builds, then runs every test: TypeScript with vitest and, beside it, C++ by its own programs. Further arguments go to
// vitest, which then runs alone: `pnpm test packages/loader`. Where clang-19 is installed, the Metal backend is tested too,
// over the simulator.
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { addCounts, describeCounts } from './lib/report.mjs';
import { runVitest } from './lib/run-vitest.mjs';

const filters = process.argv.slice(2).filter((word) => word !== '--');

const built = ensureInstalled() || buildAll(['build:sim', 'build:ptx']);
if (built !== 0) {
  console.error('test: the installation or the build failed; the lines above say why');
  process.exit(built);
}

const native = filters.length === 0 ? startNativeTests() : [];
const sum = addCounts([runVitest('vitest', filters), ...(await native)]);
console.log(describeCounts(sum));
process.exitCode = sum.failed > 0 ? 1 : 0;

/** @returns {Promise<import('./lib/report.mjs').Counts[]>} */
async function startNativeTests() {
  const [counts] = await once(
    new Worker(new URL('./lib/native-tests-thread.mjs', import.meta.url)),
    'message',
  );
  return counts;
}
