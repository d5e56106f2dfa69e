// `pnpm test`: builds, then runs every test: TypeScript with vitest and, beside it, C++ by its own programs. Further arguments go to
// vitest, which then runs alone: `pnpm test packages/loader`. Where clang-19 is installed, the Metal backend is tested too,
// over the simulator.
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { Worker } from 'node:worker_threads';
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { run } from './lib/process.mjs';
import { addCounts, describeCounts, writeReport } from './lib/report.mjs';
import { countVitest } from './lib/vitest-counts.mjs';

const filters = process.argv.slice(2).filter((word) => word !== '--');

const built = ensureInstalled() || buildAll(['build:sim', 'build:ptx']);
if (built !== 0) {
  console.error('test: the installation or the build failed; the lines above say why');
  process.exit(built);
}

const native = filters.length === 0 ? startNativeTests() : [];
const sum = addCounts([runVitest(), ...(await native)]);
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

/** @returns {import('./lib/report.mjs').Counts} */
function runVitest() {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-test-'));
  const file = path.join(folder, 'vitest.json');
  try {
    const status = run('vitest', [
      'run',
      '--reporter=default',
      '--reporter=json',
      `--outputFile.json=${file}`,
      ...filters,
    ]);
    const result = countVitest(readReport(file), status);
    writeReport('vitest', result);
    return result;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} file */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    // vitest ended before it could write the report: its exit status counts as a failure.
    return null;
  }
}
