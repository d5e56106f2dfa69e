import { expect } from 'vitest';
import type { Device } from '../src/index.js';
import { chunksOf } from './case-runs.js';
import type { ConformanceCase, Results } from './conformance-case.js';
import { findChangedBits, findDifference, pickRows, type RunOptions, runCase } from './run-case.js';

/** Expected results, computed once for all devices. */
const oracles = new Map<ConformanceCase, Results>();

function expected(test: ConformanceCase): Results {
  const known = oracles.get(test) ?? test.oracle();
  oracles.set(test, known);
  return known;
}

/**
 * Runs a case in every way that must yield its results: plain and fused, whole and in chunks, next to its equivalents,
 * and in `fast`. In `high`, all of them yield the same bits.
 *
 * @param others further devices that must yield the same bits as `device`, by a name that distinguishes them
 */
export async function checkCase(
  device: Device,
  test: ConformanceCase,
  others: Readonly<Record<string, Device>> = {},
): Promise<void> {
  const run = (options: RunOptions) => runCase(device, test, options);
  const { results: plain } = await run({ precision: 'high', fusions: false });
  expect(findDifference(plain, expected(test), test.tolerance)).toBeNull();

  const fused = await run({ precision: 'high' });
  if (test.fusedCommands !== undefined) expect(fused.commandCount).toBe(test.fusedCommands);
  const variants: [string, Results][] = [['fused', fused.results]];
  for (const [name, other] of Object.entries(others)) {
    variants.push([name, (await runCase(other, test, { precision: 'high' })).results]);
  }
  for (const chunk of chunksOf(test)) {
    variants.push([`steps of ${chunk}`, (await run({ precision: 'high', chunk })).results]);
  }
  for (const { other, rows } of test.equivalents ?? []) {
    const { results } = await runCase(device, other, { precision: 'high' });
    variants.push([other.name, pickRows(results, other.rows.count, rows)]);
  }
  for (const [name, results] of variants) expect(findChangedBits(results, plain), name).toBeNull();

  const { fastTolerance } = test;
  if (!fastTolerance) return;
  const options = { precision: 'fast', kernelsFor: test.fastKernelsFor } as const;
  const { results: fast } = await run(options);
  expect(findDifference(fast, expected(test), fastTolerance), 'fast').toBeNull();
  // NVIDIA GPUs have separate kernels for few and many rows, which round at different points: equally close, not
  // identical.
  const findFastChange = (results: Results) =>
    device.info.kind === 'cuda'
      ? findDifference(results, expected(test), fastTolerance)
      : findChangedBits(results, fast);
  const { results: fastPlain } = await run({ ...options, fusions: false });
  expect(findFastChange(fastPlain), 'fast, fused').toBeNull();
  if (!test.fastKernelsFor) return;
  const chunk = Math.max(0, ...chunksOf(test));
  if (chunk > 0) {
    const { results } = await run({ ...options, chunk });
    expect(findFastChange(results), `fast, steps of ${chunk}`).toBeNull();
  }
  for (const { other, rows } of test.equivalents ?? []) {
    const { results } = await runCase(device, other, options);
    const picked = pickRows(results, other.rows.count, rows);
    expect(findFastChange(picked), `fast, ${other.name}`).toBeNull();
  }
}
