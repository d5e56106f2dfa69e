/**
 * Counts from `ctest --verbose`. A test program may end with a line `N passed, N failed[, N skipped]`; one that does not
 * counts as a single test.
 *
 * @param {string} output
 * @returns {import('./report.mjs').Counts}
 */
export function countCtest(output) {
  /** @type {Map<string, import('./report.mjs').Counts>} */
  const programs = new Map();
  for (const line of output.split('\n')) {
    const own = /^(\d+): .*?\b(\d+) passed, (\d+) failed(?:, (\d+) skipped)?/.exec(line);
    if (own) {
      const [, id = '', passed, failed, skipped = '0'] = own;
      programs.set(id, { passed: Number(passed), failed: Number(failed), skipped: Number(skipped) });
      continue;
    }
    const result = /^\s*\d+\/\d+ Test\s+#(\d+): \S+ \.*\s*(Passed|\*\*\*\S+)/.exec(line);
    if (!result) continue;
    const [, id = '', outcome = ''] = result;
    const counts = programs.get(id);
    const hasPassed = outcome === 'Passed';
    const isSkipped = outcome.startsWith('***Skipped') || outcome.startsWith('***Not');
    if (counts === undefined) {
      programs.set(id, {
        passed: hasPassed ? 1 : 0,
        failed: hasPassed || outcome.startsWith('***Skipped') ? 0 : 1,
        skipped: outcome.startsWith('***Skipped') ? 1 : 0,
      });
    } else if (!hasPassed && !isSkipped && counts.failed === 0) {
      // It crashed or failed after printing its counts.
      counts.failed = 1;
    }
  }
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const counts of programs.values()) {
    sum.passed += counts.passed;
    sum.failed += counts.failed;
    sum.skipped += counts.skipped;
  }
  return sum;
}
