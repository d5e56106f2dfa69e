import type { Device, Matrix } from '../src/index.js';
import { normalArray } from './random.js';
import { encode, roundTo } from './storage.js';

/** A bf16 matrix [outputs, width] for the rows of attention, as a stored weight and as float64 products. */
export function projectionOf(outputs: number, width: number) {
  const weight = Float64Array.from(normalArray(93, outputs * width, 1 / Math.sqrt(width)), (x) =>
    roundTo('BF16', x),
  );
  return {
    matrix: (device: Device): Matrix<'D', 'HK'> => ({
      kind: 'plain',
      dtype: 'BF16',
      rows: outputs,
      columns: width,
      weight: device.upload(encode('BF16', weight), 'projection'),
    }),
    oracle: (x: Float64Array) =>
      Float64Array.from({ length: (x.length / width) * outputs }, (_, i) => {
        const [row, output] = [Math.floor(i / outputs), i % outputs];
        let sum = 0;
        for (let c = 0; c < width; c++) sum += x[row * width + c]! * weight[output * width + c]!;
        return sum;
      }),
  };
}
