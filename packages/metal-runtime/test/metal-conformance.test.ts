import { afterAll, describe, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import { checkBriefly } from '../conformance/check-briefly.js';
import { checkCase } from '../conformance/check-case.js';
import type { ConformanceCase } from '../conformance/conformance-case.js';
import { FAMILIES } from '../conformance/index.js';
import { openDevice } from '../src/index.js';

const device = await openMetal(openDevice);

/** The simulator runs every thread of a kernel on the processor: cases of more rows are checked in fewer ways there. */
const MANY_ROWS = 64;

/** MARKBASE_CONFORMANCE=brief: every case in one way a precision, for runs that count what is reached. */
function checkOf(test: ConformanceCase) {
  const isLong = device?.info.kind === 'metal-sim' && test.rows.count > MANY_ROWS;
  return isLong || process.env.MARKBASE_CONFORMANCE === 'brief' ? checkBriefly : checkCase;
}

describe.runIf(device)(`conformance on ${device?.info.kind ?? 'metal'}`, { timeout: 600_000 }, () => {
  afterAll(() => device!.dispose());

  describe.each(FAMILIES)('$name', ({ cases }) => {
    it.each(cases)('$name', async (test) => {
      await checkOf(test)(device!, test);
    });
  });
});
