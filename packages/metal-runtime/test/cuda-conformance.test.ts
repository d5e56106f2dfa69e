import { afterAll, describe, it } from 'vitest';
import { checkBriefly } from '../conformance/check-briefly.js';
import { checkCase } from '../conformance/check-case.js';
import { FAMILIES } from '../conformance/index.js';
import { isOverStandIn, missingCudaParts, openCuda } from './cuda-host.js';

/** The CUDA backend on a real GPU, or over the stand-in for the driver where that was built (packages/metal-sim). */
const device = await openCuda();

/** Rows of the cases that the stand-in runs unless MARKBASE_CONFORMANCE=full: it runs the kernels that metal-sim does, slowly. */
const MOST_ROWS = 36;
const isBrief = device !== null && isOverStandIn() && process.env.MARKBASE_CONFORMANCE !== 'full';
const check = isBrief ? checkBriefly : checkCase;

describe.runIf(device)('conformance on cuda', { timeout: 120_000 }, () => {
  afterAll(() => device!.dispose());

  describe.each(FAMILIES)('$name', ({ cases }) => {
    it.each(cases.filter(({ rows }) => !isBrief || rows.count <= MOST_ROWS))('$name', async (test) => {
      await check(device!, test);
    });
  });
});

describe.skipIf(device)(`conformance on cuda: ${missingCudaParts()}`, () => {
  it.skip('is skipped', () => {});
});
