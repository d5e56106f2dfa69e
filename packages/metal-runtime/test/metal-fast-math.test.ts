import { afterAll, describe, expect, it } from 'vitest';
import type { ConformanceCase } from '../conformance/conformance-case.js';
import { FAMILIES } from '../conformance/index.js';
import { findDifference, runCase } from '../conformance/run-case.js';
import { openDevice } from '../src/index.js';

// The backend asks for safe mathematics; the simulator compiles with fast mathematics nevertheless.
process.env.METAL_SIM_FAST_MATH = '1';
const device = await openDevice({ kind: 'metal-sim' }).catch(() => null);

/** The smallest case with more than one row, if there is one. */
function smallest(cases: readonly ConformanceCase[]): ConformanceCase {
  const several = cases.filter(({ rows }) => rows.count > 1);
  const size = ({ inputs }: ConformanceCase) =>
    Object.values(inputs).reduce((sum, { data }) => sum + data.length, 0);
  return (several.length > 0 ? several : [...cases]).sort((a, b) => size(a) - size(b))[0]!;
}

describe.runIf(device)('kernels with fast mathematics', { timeout: 120_000 }, () => {
  afterAll(() => device!.dispose());

  it.each(FAMILIES.map(({ name, cases }) => ({ name, test: smallest(cases) })))('$name', async ({ test }) => {
    const { tolerance, fastTolerance } = test;
    // Cases without bounds for `fast` are only for `high`.
    for (const [precision, bounds] of Object.entries({ high: tolerance, fast: fastTolerance })) {
      if (!bounds) continue;
      const { results } = await runCase(device!, test, { precision: precision as 'high' | 'fast' });
      expect(findDifference(results, test.oracle(), bounds), `${test.name} ${precision}`).toBeNull();
    }
  });
});
