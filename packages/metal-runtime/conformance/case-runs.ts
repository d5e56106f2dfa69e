import type { Device } from '../src/index.js';
import type { ConformanceCase } from './conformance-case.js';
import { findDifference, type RunOptions, recordCase, runCase } from './run-case.js';

const DEFAULT_CHUNKS = [1, 3];

/** Step sizes, smaller than all rows, that a case is split into. */
export function chunksOf(test: ConformanceCase): number[] {
  return (test.chunks ?? DEFAULT_CHUNKS).filter((chunk) => chunk < test.rows.count);
}

/** All ways in which `checkCase` runs a case on one device. */
export function runsOf(test: ConformanceCase): RunOptions[] {
  const high: RunOptions[] = [
    { precision: 'high', fusions: false },
    { precision: 'high' },
    ...chunksOf(test).map((chunk) => ({ precision: 'high' as const, chunk })),
  ];
  if (!test.fastTolerance) return high;
  return [...high, { precision: 'fast' }, { precision: 'fast', fusions: false }];
}

/** The cost and the launches of a run. */
export interface RunPlan {
  /** Launched threads, and bytes of weights. */
  readonly cost: number;
  /** Kernels with their threadgroup sizes, such as "layer_norm, 32 threads". */
  readonly launches: readonly string[];
}

/** Plans a run on a device that launches kernels, without launching anything. */
export function planRun(device: Device, test: ConformanceCase, options: RunOptions): RunPlan {
  const { rows } = test;
  const chunk = options.chunk ?? rows.count;
  using program = recordCase(device, test, options);
  const positions = Math.max(rows.count, ...(rows.positions ?? []).map((position) => position + 1));
  const outputs = Math.min(rows.outputRows?.length ?? 0, chunk);
  const dispatches = program.planStep({ rows: chunk, outputs, positions });
  const threads = dispatches.map(({ groups, threads }) => groups[0] * groups[1] * groups[2] * threads);
  const steps = Math.ceil(rows.count / chunk);
  return {
    cost: steps * threads.reduce((sum, count) => sum + count, program.plan.weightBytes),
    launches: [...new Set(dispatches.map(({ kernel, threads }) => `${kernel}, ${threads} threads`))],
  };
}

/** Runs a case in one way; returns what is wrong with the results, or null. Rejects with the device's error. */
export async function findRunFailure(
  device: Device,
  test: ConformanceCase,
  options: RunOptions,
): Promise<string | null> {
  const { results } = await runCase(device, test, options);
  const tolerance = options.precision === 'fast' ? test.fastTolerance! : test.tolerance;
  return findDifference(results, test.oracle(), tolerance);
}
