import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { gain } from '../../conformance/storage.js';

type Types = 'F32' | 'BF16' | 'F16';

function columnAffineCase(
  rows: number,
  width: number,
  dtype: Types,
  isStandardised: boolean,
  margin = 0,
): ConformanceCase {
  const stride = width + 2 * margin;
  const x = normalArray(28, rows * stride);
  const shift = gain(29, width, dtype);
  const scale = gain(30, width, dtype);
  return {
    name: `${isStandardised ? 'standardise' : 'add bias'} [${rows}, ${width}] ${dtype}${margin ? ' view' : ''}`,
    rows: { count: rows },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole;
      const bias = shift.upload<'D'>(device);
      const y = isStandardised ? ops.standardise(view, bias, scale.upload(device)) : ops.addBias(view, bias);
      ops.output('y', y);
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * width }, (_, i) => {
        const column = i % width;
        const value = x[Math.floor(i / width) * stride + margin + column]!;
        if (!isStandardised) return value + shift.values[column]!;
        return (value - shift.values[column]!) * scale.values[column]!;
      }),
    }),
    // Two roundings of numbers around 1.
    tolerance: { absolute: 3e-7, relative: 2e-7 },
  };
}

export const columnAffine: ConformanceFamily = {
  name: 'column_affine',
  cases: [false, true].flatMap((isStandardised) => [
    ...ROW_COUNTS.map((rows) => columnAffineCase(rows, 1152, 'BF16', isStandardised)),
    columnAffineCase(3, 17, 'F32', isStandardised),
    columnAffineCase(3, 33, 'F16', isStandardised, 3),
  ]),
};
