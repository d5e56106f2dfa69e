import type { ConformanceCase, ConformanceFamily } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { positionsOf, slotsOf } from '../../conformance/sounds.js';
import { encode, gain } from '../../conformance/storage.js';

interface LocalAttentionCase {
  /** Rows of each sound, consecutive in one step. */
  readonly sounds: readonly number[];
  readonly heads: number;
  readonly width: number;
  readonly reach: number;
  /** Distances with a relative key; default: reach + 1. */
  readonly distances?: number;
  readonly cap?: number;
  /** Magnitude of the queries. */
  readonly size?: number;
  /** q, k and v are columns of one value. */
  readonly isGrouped?: boolean;
}

const KEY_SCALE = Math.fround(1.8946361);

function localAttentionCase(options: LocalAttentionCase): ConformanceCase {
  const {
    sounds,
    heads,
    width,
    reach,
    distances = reach + 1,
    cap = 50,
    size = 1,
    isGrouped = false,
  } = options;
  const positions = positionsOf(sounds);
  const rows = positions.length;
  const all = heads * width;
  const data = {
    q: normalArray(331, rows * all, size),
    k: normalArray(332, rows * all),
    v: normalArray(333, rows * all),
  };
  const relative = normalArray(334, distances * all);
  const queryScale = gain(335, width, 'F32');
  const grouped = new Float32Array(3 * rows * all);
  for (let row = 0; row < rows; row++) {
    for (const [i, values] of [data.q, data.k, data.v].entries()) {
      grouped.set(values.subarray(row * all, (row + 1) * all), (row * 3 + i) * all);
    }
  }
  const attend = (row: number, head: number): Float64Array => {
    const count = Math.min(reach, positions[row]! + 1);
    const scores = Array.from({ length: count }, (_, d) => {
      let sum = 0;
      for (let i = head * width; i < (head + 1) * width; i++) {
        const q = data.q[row * all + i]! * queryScale.values[i - head * width]!;
        sum += q * (data.k[(row - d) * all + i]! * KEY_SCALE + relative[d * all + i]!);
      }
      return cap * Math.tanh(sum / cap);
    });
    const best = Math.max(...scores);
    const weights = scores.map((score) => Math.exp(score - best));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    return Float64Array.from({ length: width }, (_, i) =>
      weights.reduce((sum, w, d) => sum + (w / total) * data.v[(row - d) * all + head * width + i]!, 0),
    );
  };
  return {
    name: JSON.stringify(options),
    rows: { count: rows, positions, slots: slotsOf(sounds) },
    inputs: isGrouped
      ? { qkv: { rows: 'T', width: 3 * all, data: grouped } }
      : Object.fromEntries(
          Object.entries(data).map(([name, values]) => [name, { rows: 'T', width: all, data: values }]),
        ),
    record(ops, device) {
      const whole = isGrouped ? ops.input('qkv', 'T', { axis: 'HK', size: 3 * all }) : null;
      const [q, k, v] = (['q', 'k', 'v'] as const).map((name, i) =>
        whole
          ? ops.columns(whole, { axis: 'HK', begin: i * all, width: all })
          : ops.input(name, 'T', { axis: 'HK', size: all }),
      );
      const relativeKeys = {
        distances,
        width: all,
        data: device.upload(encode('F32', relative), 'relative'),
      };
      const scales = { keyScale: KEY_SCALE, queryScale: queryScale.upload<'K'>(device) };
      ops.output('y', ops.localAttention(q!, k!, v!, { heads, reach, cap, ...scales, relativeKeys }));
    },
    oracle() {
      const y = new Float64Array(rows * all);
      for (let row = 0; row < rows; row++) {
        for (let head = 0; head < heads; head++) y.set(attend(row, head), row * all + head * width);
      }
      return { y };
    },
    // Scores are sums of `width` terms around sqrt(width), capped before they enter an exponent.
    tolerance: { absolute: 1e-5 * Math.max(1, cap / 25), relative: 1e-5 },
    // Rows read earlier rows, so a sound cannot be split.
    chunks: [],
  };
}

export const localAttention: ConformanceFamily = {
  name: 'local_attention',
  cases: [
    localAttentionCase({ sounds: [1], heads: 8, width: 128, reach: 12, size: 0.1 }),
    localAttentionCase({ sounds: [25, 3, 13, 12], heads: 8, width: 128, reach: 12, size: 0.1 }),
    localAttentionCase({ sounds: [30], heads: 2, width: 16, reach: 12, distances: 12 }),
    ...[1, 2, 3, 4, 5, 13, 16, 17, 33, 64].map((reach) =>
      localAttentionCase({ sounds: [70, 5], heads: 2, width: 8, reach }),
    ),
    ...[1, 4, 15, 17, 33].map((width) => localAttentionCase({ sounds: [14, 3], heads: 3, width, reach: 12 })),
    localAttentionCase({ sounds: [20], heads: 2, width: 16, reach: 12, cap: 5, size: 10 }),
    localAttentionCase({ sounds: [9, 9], heads: 4, width: 16, reach: 6, isGrouped: true }),
  ],
};
