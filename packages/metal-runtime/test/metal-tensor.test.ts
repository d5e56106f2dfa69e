import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findChangedBits, findDifference, runCase } from '../conformance/run-case.js';
import { linear } from '../families/linear/oracle.js';
import { type Device, openDevice } from '../src/index.js';

/** A simulated device with a version of macOS; kernels are chosen when a device is opened. */
async function openSimulated(version: string): Promise<Device | null> {
  process.env.METAL_SIM_MACOS = version;
  return openDevice({ kind: 'metal-sim' }).catch(() => null);
}

const simulated = await openSimulated('26');
simulated?.dispose();

/** Each storage format, each epilogue, edges of tiles, several weights. */
const CASES = linear.cases.filter(({ name }) =>
  /g64 BF16 |^(?:F32|BF16|F16) .*\b(?:7|33)\]|^q4g64 \[64,|view|one output|rows=7$/.test(name),
);

describe.runIf(simulated)('linear with the tensor operations of Metal 4', { timeout: 120_000 }, () => {
  let older: Device;
  let newer: Device;

  beforeAll(async () => {
    older = (await openSimulated('15'))!;
    newer = (await openSimulated('26'))!;
  });

  afterAll(() => {
    delete process.env.METAL_SIM_MACOS;
    older.dispose();
    newer.dispose();
  });

  it.each(CASES)('$name', async (test) => {
    const options = { precision: 'fast', kernelsFor: 'many-rows' } as const;
    const { results } = await runCase(newer, test, options);
    expect(findDifference(results, test.oracle(), test.fastTolerance!)).toBeNull();
    // In the simulator, both kernels sum the columns in ascending order.
    const { results: tiled } = await runCase(older, test, options);
    expect(findChangedBits(results, tiled)).toBeNull();
    if (test.rows.count < 4) return;
    const { results: cut } = await runCase(newer, test, { ...options, chunk: test.rows.count - 3 });
    expect(findChangedBits(cut, results)).toBeNull();
  });
});
