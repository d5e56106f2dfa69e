// `pnpm test`: builds, then runs every test: TypeScript with vitest, C++ with its own programs. Additional arguments are passed to vitest,
// which then runs alone: `pnpm test packages/loader`. If clang-19 is installed, the Metal backend is also tested, over the simulator.
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { buildAll } from './lib/build.mjs';
import { ensureInstalled } from './lib/install.mjs';
import { runNativeTests } from './lib/native-tests.mjs';
import { run } from './lib/process.mjs';
import { addCounts, describeCounts, writeReport } from './lib/report.mjs';
import { countVitest } from './lib/vitest-counts.mjs';

const filters = process.argv.slice(2).filter((word) => word !== '--');

const built = ensureInstalled() || buildAll(['build:sim', 'build:ptx']);
if (built !== 0) {
  console.error('test: the installation or the build failed; the lines above say why');
  process.exit(built);
}

const counts = [runVitest()];
if (filters.length === 0) counts.push(...runNativeTests());
const sum = addCounts(counts);
console.log(describeCounts(sum));
process.exitCode = sum.failed > 0 ? 1 : 0;

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
