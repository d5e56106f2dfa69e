import { expect } from 'vitest';
import type { Device } from '../src/index.js';
import type { ConformanceCase } from './conformance-case.js';
import { findDifference, runCase } from './run-case.js';

const FEW_ROWS = 16;

/**
 * Checks a case against its oracle once in each precision and, if it has few rows, row by row and without fusions. This
 * reaches every line of a kernel that the case reaches, in a fraction of the time of `checkCase`, for runs that are
 * slow because something is being counted.
 */
export async function checkBriefly(device: Device, test: ConformanceCase): Promise<void> {
  const expected = test.oracle();
  const { results: high } = await runCase(device, test, { precision: 'high' });
  expect(findDifference(high, expected, test.tolerance)).toBeNull();
  // Rows that see each other cannot be split.
  if (test.rows.count <= FEW_ROWS && (test.chunks ?? [1]).includes(1)) {
    for (const fusions of [undefined, false, { without: ['moe-route'] }] as const) {
      const { results } = await runCase(device, test, { precision: 'high', fusions, chunk: 1 });
      expect(findDifference(results, expected, test.tolerance), 'row by row').toBeNull();
    }
  }
  if (!test.fastTolerance) return;
  const { results: fast } = await runCase(device, test, {
    precision: 'fast',
    kernelsFor: test.fastKernelsFor,
  });
  expect(findDifference(fast, expected, test.fastTolerance), 'fast').toBeNull();
}
