/**
 * Counts of a vitest run from its JSON report.
 *
 * A file that fails to load has no tests in the report, and an error outside any test only shows in the exit status:
 * each counts as one failure.
 *
 * @param {{ testResults: { status: string, assertionResults: { status: string }[] }[] } | null} report Null if none was written.
 * @param {number} exitStatus
 * @returns {import('./report.mjs').Counts}
 */
export function countVitest(report, exitStatus) {
  const counts = { passed: 0, failed: 0, skipped: 0 };
  for (const file of report?.testResults ?? []) {
    for (const test of file.assertionResults) {
      if (test.status === 'passed') counts.passed += 1;
      else if (test.status === 'failed') counts.failed += 1;
      else counts.skipped += 1;
    }
    if (file.status === 'failed' && !file.assertionResults.some((test) => test.status === 'failed')) {
      counts.failed += 1;
    }
  }
  if (exitStatus !== 0 && counts.failed === 0) counts.failed = 1;
  return counts;
}
