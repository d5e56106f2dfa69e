import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { positionsOf, slotsOf } from '../../conformance/sounds.js';
import { encode } from '../../conformance/storage.js';

interface CausalConvCase {
  /** Rows of each sound, consecutive in one step. */
  readonly sounds: readonly number[];
  readonly width: number;
  readonly taps: number;
  /** Columns before and after x in the value that x is a view of. */
  readonly margin?: number;
}

function causalConvCase(options: CausalConvCase): ConformanceCase {
  const { sounds, width, taps, margin = 0 } = options;
  const positions = positionsOf(sounds);
  const stride = width + 2 * margin;
  const x = normalArray(321, positions.length * stride);
  const kernel = normalArray(322, taps * width);
  return {
    name: JSON.stringify(options),
    rows: { count: positions.length, positions, slots: slotsOf(sounds) },
    inputs: { x: { rows: 'T', width: stride, data: x } },
    record(ops, device) {
      const whole = ops.input('x', 'T', { axis: 'D', size: stride });
      const view = margin ? ops.columns(whole, { axis: 'D', begin: margin, width }) : whole;
      const data = device.upload(encode('F32', kernel), 'kernel');
      ops.output('y', ops.causalConv(view, { taps, channels: width, data }));
    },
    oracle: () => ({
      y: Float64Array.from({ length: positions.length * width }, (_, i) => {
        const [row, channel] = [Math.floor(i / width), i % width];
        let sum = 0;
        for (let j = 0; j < taps; j++) {
          const distance = taps - 1 - j;
          if (distance > positions[row]!) continue;
          sum += kernel[j * width + channel]! * x[(row - distance) * stride + margin + channel]!;
        }
        return sum;
      }),
    }),
    tolerance: { absolute: 2e-6, relative: 1e-6 },
    // Rows read earlier rows, so a sound cannot be split.
    chunks: [],
  };
}

export const causalConv: ConformanceFamily = {
  name: 'causal_conv',
  cases: [
    causalConvCase({ sounds: [1], width: 1024, taps: 5 }),
    causalConvCase({ sounds: [25, 3, 40], width: 1024, taps: 5 }),
    ...[1, 15, 16, 17, 33].map((width) => causalConvCase({ sounds: [7, 2], width, taps: 3 })),
    causalConvCase({ sounds: [4, 4], width: 8, taps: 1 }),
    causalConvCase({ sounds: [4, 9], width: 12, taps: 7, margin: 5 }),
  ],
};
