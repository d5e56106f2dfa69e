import type { ConformanceCase } from '../conformance/conformance-case.js';
import { recordCase } from '../conformance/run-case.js';
import type { Device, RecordOptions } from '../src/index.js';

/** The kernels that a case is planned with on a device, for one row and for all rows, at several positions. */
export function plannedKernels(
  device: Device,
  test: ConformanceCase,
  precision: RecordOptions['precision'],
  positionCounts: readonly number[] = [300],
): string[] {
  const kernelsFor = precision === 'fast' ? test.fastKernelsFor : undefined;
  using program = recordCase(device, test, { precision, kernelsFor });
  const { count, outputRows = [] } = test.rows;
  return [...new Set([1, count])].flatMap((rows) =>
    positionCounts.flatMap((positions) =>
      program
        .planStep({ rows, outputs: Math.min(rows, outputRows.length), positions })
        .map(({ kernel }) => kernel),
    ),
  );
}
