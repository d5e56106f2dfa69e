import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ConformanceCase, Results } from '../conformance/conformance-case.js';
import { FAMILIES } from '../conformance/index.js';
import {
  findChangedBits,
  findDifference,
  pickRows,
  type RunOptions,
  runCase,
} from '../conformance/run-case.js';
import { type Device, listIsas, openDevice } from '../src/index.js';

const DEFAULT_CHUNKS = [1, 3];

/** Expected results, computed once for all instruction sets. */
const oracles = new Map<ConformanceCase, Results>();

function expected(test: ConformanceCase): Results {
  const known = oracles.get(test) ?? test.oracle();
  oracles.set(test, known);
  return known;
}

describe.each(listIsas())('conformance on cpu %s', (isa) => {
  let device: Device;
  let oneThread: Device;

  beforeAll(async () => {
    device = await openDevice({ kind: 'cpu', isa, threads: 2 });
    oneThread = await openDevice({ kind: 'cpu', isa, threads: 1 });
  });

  afterAll(() => {
    device.dispose();
    oneThread.dispose();
  });

  describe.each(FAMILIES)('$name', ({ cases }) => {
    it.each(cases)('$name', async (test) => {
      const run = (options: RunOptions) => runCase(device, test, options);
      const { results: plain } = await run({ precision: 'high', fusions: false });
      expect(findDifference(plain, expected(test), test.tolerance)).toBeNull();

      const fused = await run({ precision: 'high' });
      if (test.fusedCommands !== undefined) expect(fused.commandCount).toBe(test.fusedCommands);
      const variants: [string, Results][] = [
        ['fused', fused.results],
        ['one thread', (await runCase(oneThread, test, { precision: 'high' })).results],
      ];
      for (const chunk of test.chunks ?? DEFAULT_CHUNKS) {
        if (chunk >= test.rows.count) continue;
        variants.push([`steps of ${chunk}`, (await run({ precision: 'high', chunk })).results]);
      }
      for (const { other, rows } of test.equivalents ?? []) {
        const { results } = await runCase(device, other, { precision: 'high' });
        variants.push([other.name, pickRows(results, other.rows.count, rows)]);
      }
      for (const [name, results] of variants) expect(findChangedBits(results, plain), name).toBeNull();

      if (!test.fastTolerance) return;
      const { results: fast } = await run({ precision: 'fast' });
      expect(findDifference(fast, expected(test), test.fastTolerance), 'fast').toBeNull();
      const { results: fastPlain } = await run({ precision: 'fast', fusions: false });
      expect(findChangedBits(fast, fastPlain), 'fast, fused').toBeNull();
    });
  });
});
