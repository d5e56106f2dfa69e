import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { run } from './process.mjs';
import { writeReport } from './report.mjs';
import { countVitest } from './vitest-counts.mjs';

/**
 * Runs vitest and reports its counts.
 *
 * @param {string} name Of the report, in kebab-case.
 * @param {readonly string[]} args
 * @param {Record<string, string>} [env]
 * @returns {import('./report.mjs').Counts}
 */
export function runVitest(name, args, env = {}) {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'markbase-test-'));
  const file = path.join(folder, 'vitest.json');
  try {
    const reporters = ['--reporter=default', '--reporter=json', `--outputFile.json=${file}`];
    const status = run('vitest', ['run', ...reporters, ...args], { env });
    const result = countVitest(readReport(file), status);
    writeReport(name, result);
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
