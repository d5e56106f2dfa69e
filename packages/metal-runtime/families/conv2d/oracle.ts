import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { positionsOf, slotsOf } from '../../conformance/sounds.js';
import { encode } from '../../conformance/storage.js';

interface Conv2dCase {
  /** Rows of each sound, consecutive in one step. */
  readonly sounds: readonly number[];
  readonly times: number;
  readonly frequencies: number;
  readonly inChannels: number;
  readonly outChannels: number;
  /** Mask columns per time step. */
  readonly maskStep?: number;
  /** Columns before and after x in the value that x is a view of. */
  readonly margin?: number;
}

function conv2dCase(options: Conv2dCase): ConformanceCase {
  const { sounds, times, frequencies, inChannels, outChannels, maskStep = 1, margin = 0 } = options;
  const rows = sounds.reduce((sum, count) => sum + count, 0);
  const width = times * frequencies * inChannels;
  const stride = width + 2 * margin;
  const x = normalArray(311, rows * stride);
  const kernel = normalArray(312, 9 * inChannels * outChannels, 1 / Math.sqrt(9 * inChannels));
  // The last half of the last row of every sound is padding; the other columns of a step must be ignored.
  const positions = positionsOf(sounds);
  const isLast = (row: number) => positions[row + 1] !== positions[row]! + 1;
  const mask = Float32Array.from({ length: rows * times * maskStep }, (_, i) => {
    const [row, time] = [Math.floor(i / (times * maskStep)), Math.floor(i / maskStep) % times];
    if (i % maskStep !== 0) return Number.NaN;
    return isLast(row) && time >= times / 2 ? 0 : 1;
  });
  const at = (row: number, time: number, frequency: number, channel: number): number => {
    if (time < 0) return positions[row] === 0 ? 0 : at(row - 1, times - 1, frequency, channel);
    if (frequency < 0 || frequency >= frequencies || mask[(row * times + time) * maskStep] === 0) return 0;
    return x[row * stride + margin + (time * frequencies + frequency) * inChannels + channel]!;
  };
  const convolve = (row: number, time: number, frequency: number, channel: number): number => {
    let sum = 0;
    for (let i = 0; i < 3; i++) {
      for (let j = 0; j < 3; j++) {
        for (let c = 0; c < inChannels; c++) {
          const weight = kernel[((i * 3 + j) * inChannels + c) * outChannels + channel]!;
          sum += weight * at(row, 2 * time - 1 + i, 2 * frequency - 1 + j, c);
        }
      }
    }
    return sum;
  };
  return {
    name: JSON.stringify(options),
    rows: { count: rows, positions, slots: slotsOf(sounds) },
    inputs: {
      x: { rows: 'T', width: stride, data: x },
      mask: { rows: 'T', width: times * maskStep, data: mask },
    },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'M', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'M', begin: margin, width }) : whole;
      const data = device.upload(encode('F32', kernel), 'kernel');
      const maskValue = ops.input('mask', 'T', { axis: 'M', size: times * maskStep });
      ops.output('y', ops.conv2d(view, { inChannels, outChannels, data }, { times, mask: maskValue }));
    },
    oracle() {
      const outFrequencies = Math.ceil(frequencies / 2);
      const outWidth = (times / 2) * outFrequencies * outChannels;
      return {
        y: Float64Array.from({ length: rows * outWidth }, (_, i) => {
          const channel = i % outChannels;
          const frequency = Math.floor(i / outChannels) % outFrequencies;
          const time = Math.floor(i / (outChannels * outFrequencies)) % (times / 2);
          return convolve(Math.floor(i / outWidth), time, frequency, channel);
        }),
      };
    },
    // A float32 sum of up to 1,152 terms.
    tolerance: { absolute: 4e-6, relative: 2e-6 },
    // Rows read the previous row, so a sound cannot be split.
    chunks: [],
  };
}

export const conv2d: ConformanceFamily = {
  name: 'conv2d',
  cases: [
    conv2dCase({ sounds: [3], times: 4, frequencies: 128, inChannels: 1, outChannels: 128 }),
    conv2dCase({ sounds: [2, 1], times: 2, frequencies: 64, inChannels: 128, outChannels: 32, maskStep: 2 }),
    conv2dCase({ sounds: [5, 3, 1], times: 4, frequencies: 9, inChannels: 3, outChannels: 5 }),
    ...[1, 2, 3, 4, 5, 16, 17, 18, 19].map((frequencies) =>
      conv2dCase({ sounds: [2, 2], times: 2, frequencies, inChannels: 2, outChannels: 4 }),
    ),
    ...[1, 15, 16, 17, 31, 33, 48].map((outChannels) =>
      conv2dCase({ sounds: [3], times: 2, frequencies: 20, inChannels: 4, outChannels }),
    ),
    conv2dCase({ sounds: [2, 2], times: 4, frequencies: 6, inChannels: 2, outChannels: 4, margin: 3 }),
  ],
};
