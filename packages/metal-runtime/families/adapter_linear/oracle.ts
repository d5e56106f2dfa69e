import {
  type ConformanceCase,
  type ConformanceFamily,
  ROW_COUNTS,
} from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { encode } from '../../conformance/storage.js';

interface AdapterCase {
  readonly rows: number;
  readonly outWidth: number;
  readonly inWidth: number;
  readonly count: number;
  readonly hasBase: boolean;
  /** Columns before and after x in the value that x is a view of. */
  readonly margin?: number;
}

function adapterCase(options: AdapterCase): ConformanceCase {
  const { rows, outWidth, inWidth, count, hasBase, margin = 0 } = options;
  const stride = inWidth + 2 * margin;
  const x = normalArray(61, rows * stride);
  const base = normalArray(62, rows * outWidth);
  const matrices = normalArray(63, count * outWidth * inWidth, inWidth ** -0.5);
  // All adapters and none, and a number beyond the last one, which counts as none.
  const selected = Float32Array.from({ length: rows }, (_, row) => (row + 1) % (count + 2));
  return {
    name: JSON.stringify(options),
    rows: { count: rows },
    inputs: {
      x: { rows: 'T', width: stride, data: x },
      selected: { rows: 'T', width: 1, data: selected },
      ...(hasBase && { base: { rows: 'T', width: outWidth, data: base } }),
    },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width: inWidth }) : whole;
      const data = device.upload(encode('F32', matrices), 'matrices');
      const y = ops.adapterLinear<'T', 'F', 'D'>(
        view,
        { count, rows: outWidth, columns: inWidth, data },
        {
          selected: ops.input('selected', 'T', { axis: 'X', size: 1 }),
          ...(hasBase && { base: ops.input('base', 'T', { axis: 'F', size: outWidth }) }),
        },
      );
      ops.output('y', y);
    },
    oracle: () => ({
      y: Float64Array.from({ length: rows * outWidth }, (_, i) => {
        const [row, out] = [Math.floor(i / outWidth), i % outWidth];
        let sum = hasBase ? base[i]! : 0;
        const adapter = selected[row]!;
        if (adapter === 0 || adapter > count) return sum;
        const matrix = (adapter - 1) * outWidth * inWidth + out * inWidth;
        for (let k = 0; k < inWidth; k++) sum += matrices[matrix + k]! * x[row * stride + margin + k]!;
        return sum;
      }),
    }),
    // A float32 sum of up to 1,536 terms.
    tolerance: { absolute: 4e-6, relative: 2e-6 },
  };
}

export const adapterLinear: ConformanceFamily = {
  name: 'adapter_linear',
  cases: [
    ...ROW_COUNTS.map((rows) => adapterCase({ rows, outWidth: 16, inWidth: 1536, count: 2, hasBase: false })),
    ...[1, 8, 33].map((inWidth) => adapterCase({ rows: 7, outWidth: 130, inWidth, count: 3, hasBase: true })),
    adapterCase({ rows: 5, outWidth: 5, inWidth: 17, count: 1, hasBase: true, margin: 3 }),
    adapterCase({ rows: 3, outWidth: 64, inWidth: 65, count: 1, hasBase: false, margin: 1 }),
  ],
};
