import type { Device } from '../src/index.js';
import type { ConformanceCase } from './conformance-case.js';
import { findDifference, type RunOptions, recordCase, runCase } from './run-case.js';

const DEFAULT_CHUNKS = [1, 3];

/** Sizes of steps, below all rows, that a case is cut into. */
export function chunksOf(test: ConformanceCase): number[] {
  return (test.chunks ?? DEFAULT_CHUNKS).filter((chunk) => chunk < test.rows.count);
}

/** Every way in which `checkCase` runs a case on one device. */
export function runsOf(test: ConformanceCase): RunOptions[] {
  const high: RunOptions[] = [
    { precision: 'high', fusions: false },
    { precision: 'high' },
    ...chunksOf(test).map((chunk) => ({ precision: 'high' as const, chunk })),
  ];
  if (!test.fastTolerance) return high;
  return [...high, { precision: 'fast' }, { precision: 'fast', fusions: false }];
}

/** What a run costs, and what it launches. */
export interface RunPlan {
  /** Threads that are launched, and bytes of weights. */
  readonly cost: number;
  /** Kernels with the threads of their threadgroups, such as "layer_norm, 32 threads". */
  readonly launches: readonly string[];
}

/** Plans a run on a device that launches kernels; nothing is launched. */
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

/** Runs a case in one way; what is wrong with the results, in words, or null. Rejects with what the device says. */
export async function findRunFailure(
  device: Device,
  test: ConformanceCase,
  options: RunOptions,
): Promise<string | null> {
  const { results } = await runCase(device, test, options);
  const tolerance = options.precision === 'fast' ? test.fastTolerance! : test.tolerance;
  return findDifference(results, test.oracle(), tolerance);
}
