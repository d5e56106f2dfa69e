import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/**
 * The result of a run of checks.
 *
 * @typedef {object} Counts
 * @property {number} passed
 * @property {number} failed
 * @property {number} skipped
 */

/** The folder that collects the counts of all runs, which `.ci/run` adds up. If unset, counts are only printed. */
const REPORT_FOLDER = process.env.MARKBASE_REPORT_DIR;

/**
 * Prints the counts of a run and, if `MARKBASE_REPORT_DIR` is set, writes them there.
 *
 * @param {string} name Kebab-case; a second report of the same name replaces the first.
 * @param {Counts} counts
 */
export function writeReport(name, counts) {
  console.log(`${name}: ${describeCounts(counts)}`);
  if (REPORT_FOLDER === undefined) return;
  mkdirSync(REPORT_FOLDER, { recursive: true });
  writeFileSync(path.join(REPORT_FOLDER, `${name}.json`), `${JSON.stringify(counts)}\n`);
}

/**
 * The sum of all reports in a folder.
 *
 * @public `.ci/run` calls it.
 * @param {string} folder
 * @returns {Counts}
 */
export function sumReports(folder) {
  const reports = readdirSync(folder).filter((file) => file.endsWith('.json'));
  return addCounts(reports.map((file) => JSON.parse(readFileSync(path.join(folder, file), 'utf8'))));
}

/**
 * @param {readonly Counts[]} parts
 * @returns {Counts}
 */
export function addCounts(parts) {
  const sum = { passed: 0, failed: 0, skipped: 0 };
  for (const part of parts) {
    sum.passed += part.passed;
    sum.failed += part.failed;
    sum.skipped += part.skipped;
  }
  return sum;
}

/** @param {Counts} counts */
export function describeCounts(counts) {
  return `${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`;
}
