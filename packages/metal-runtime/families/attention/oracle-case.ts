import { testCache } from '../../conformance/cache.js';
import type { ConformanceCase, Results } from '../../conformance/conformance-case.js';
import { normalArray } from '../../conformance/random.js';
import { encode, gain, roundTo, type StoredMatrix } from '../../conformance/storage.js';
import type { Device, KvCache, Ops, Value } from '../../src/index.js';
import { linearOracle } from '../linear/oracle-case.js';
import { rmsNormOracle } from '../rms_norm/oracle.js';
import { ropeOracle } from '../rope/oracle.js';
import { inverseFrequencies, ropeTableOracle } from '../rope_table/oracle.js';

const EPS = 1e-6;

/** Rows of one sequence: consecutive positions in one slot. The data only depends on the seed and the position. */
export interface Sequence {
  readonly seed: number;
  readonly slot: number;
  readonly first: number;
  readonly count: number;
}

export interface AttentionCase {
  readonly title: string;
  readonly heads: number;
  readonly kvHeads: number;
  readonly width: number;
  /** Null = full attention. */
  readonly window: number | null;
  readonly capacity: number;
  readonly dtype: KvCache['dtype'];
  /** Their rows are interleaved in the step. */
  readonly sequences: readonly Sequence[];
  /** Positions [begin, end] of images, whose rows see each other in sliding layers. */
  readonly block?: readonly [number, number];
  /**
   * `plain`: q, k, v are used as they are. `prepared`: head norms and rotation first. `keyIsValue`: v is the raw k.
   * `shared`: a second attention reads the cache with its own queries.
   */
  readonly mode?: 'plain' | 'prepared' | 'keyIsValue' | 'shared';
  /** [outputs, heads · width]: the weight of a linear that reads the attention and replaces it as the result. */
  readonly projection?: StoredMatrix;
  readonly chunks?: readonly number[];
  readonly equivalents?: ConformanceCase['equivalents'];
  readonly fastKernelsFor?: ConformanceCase['fastKernelsFor'];
}

interface Row {
  readonly sequence: Sequence;
  readonly position: number;
}

/** Rows of all sequences, interleaved. */
function interleave(sequences: readonly Sequence[]): Row[] {
  const longest = Math.max(...sequences.map((sequence) => sequence.count));
  return Array.from({ length: longest }, (_, i) =>
    sequences
      .filter((sequence) => i < sequence.count)
      .map((sequence) => ({ sequence, position: sequence.first + i })),
  ).flat();
}

function fill(rows: readonly Row[], salt: number, width: number, scale: number): Float32Array {
  const data = new Float32Array(rows.length * width);
  rows.forEach(({ sequence, position }, r) => {
    data.set(normalArray(sequence.seed * 1_000_003 + position * 17 + salt, width, scale), r * width);
  });
  return data;
}

/** An attention case: its inputs, its recording, and its expected results. */
export function attentionCase(options: AttentionCase): ConformanceCase {
  const {
    heads,
    kvHeads,
    width,
    window,
    capacity,
    dtype,
    sequences,
    block,
    mode = 'plain',
    projection,
  } = options;
  const rows = interleave(sequences);
  const isPrepared = mode !== 'plain';
  const [queryWidth, keyWidth] = [heads * width, kvHeads * width];
  // Scores have a standard deviation of about 2: several positions matter, none dominates.
  const q = fill(rows, 1, queryWidth, 2 / Math.sqrt(width));
  const sharedQ = fill(rows, 2, queryWidth, 1);
  const k = fill(rows, 3, keyWidth, 1);
  const v = fill(rows, 4, keyWidth, 1);
  const frequencies = inverseFrequencies(width, 10_000);
  const queryGain = gain(91, width, 'BF16');
  const keyGain = gain(92, width, 'BF16');
  // Normalised queries all have the same length; a small gain keeps their scores in the same range.
  const smallGain = {
    ...queryGain,
    values: queryGain.values.map((x) => roundTo('BF16', (2 * x) / Math.sqrt(width))),
  };
  const positions = Int32Array.from(rows, (row) => row.position);
  const isInBlock = (position: number) => block && position >= block[0] && position <= block[1];
  const visibleEnd = positions.map((position) => (isInBlock(position) ? block![1] : position));

  const record = (ops: Ops, device: Device) => {
    const slotCount = Math.max(...sequences.map((sequence) => sequence.slot)) + 1;
    const shape = { kvHeadCount: kvHeads, headWidth: width, windowTokens: window, dtype };
    const cache = testCache(device, shape, slotCount, capacity);
    const query = ops.input('q', 'T', { axis: 'HK', size: queryWidth });
    const key = ops.input('k', 'T', { axis: 'GK', size: keyWidth });
    const value = mode === 'keyIsValue' ? key : ops.input('v', 'T', { axis: 'GK', size: keyWidth });
    const output = (attended: Value<'T', 'HK'>) =>
      ops.output('y', projection ? ops.linear(attended, projection.upload<'D', 'HK'>(device)) : attended);
    if (!isPrepared) {
      ops.appendKv(cache, key, value);
      return output(ops.attention(query, cache, { heads }));
    }
    const upload = (stored: typeof queryGain) => ({
      length: width,
      dtype: 'BF16' as const,
      data: device.upload(encode('BF16', stored.values), 'gain'),
    });
    const table = ops.ropeTable('T', {
      length: width / 2,
      dtype: 'F32',
      data: device.upload(encode('F32', frequencies), 'frequencies'),
    });
    const prepareQuery = (raw: Value<'T', 'HK'>) =>
      ops.rope(ops.rmsNormHeads(raw, upload(smallGain), { eps: EPS, heads }), table, { heads });
    const rotatedKey = ops.rope(ops.rmsNormHeads(key, upload(keyGain), { eps: EPS, heads: kvHeads }), table, {
      heads: kvHeads,
    });
    ops.appendKv(cache, rotatedKey, ops.rmsNormHeads(value, null, { eps: EPS, heads: kvHeads }));
    output(ops.attention(prepareQuery(query), cache, { heads }));
    if (mode !== 'shared') return;
    const other = ops.input('sharedQ', 'T', { axis: 'HK', size: queryWidth });
    ops.output('shared', ops.attention(prepareQuery(other), cache, { heads }));
  };

  /** Normalises and rotates the heads of all rows. */
  const prepare = (x: Float32Array, count: number, vectorGain: Float64Array | null, isRotated: boolean) => {
    const y = Float64Array.from(x);
    if (!isPrepared) return y;
    for (let at = 0; at < x.length; at += width) {
      const head = rmsNormOracle(x.subarray(at, at + width), vectorGain, EPS);
      const table = ropeTableOracle(positions[Math.floor(at / (count * width))]!, frequencies);
      y.set(isRotated ? ropeOracle(head, table) : head, at);
    }
    return y;
  };

  /** softmax(q kᵀ) v over the positions that each row sees; positions that were never written are zeros. */
  const attend = (queries: Float64Array, keys: Float64Array, values: Float64Array) => {
    const y = new Float64Array(rows.length * queryWidth);
    const written = new Map(rows.map(({ sequence, position }, r) => [`${sequence.slot} ${position}`, r]));
    rows.forEach(({ sequence, position }, r) => {
      const low = window === null ? 0 : Math.max(0, position - window + 1);
      const high = window === null ? position : visibleEnd[r]!;
      const sources = Array.from({ length: high - low + 1 }, (_, i) =>
        written.get(`${sequence.slot} ${low + i}`),
      );
      for (let h = 0; h < heads; h++) {
        const g = Math.floor(h / (heads / kvHeads));
        const scores = sources.map((source) => {
          let score = 0;
          for (let i = 0; source !== undefined && i < width; i++) {
            score += queries[r * queryWidth + h * width + i]! * keys[source * keyWidth + g * width + i]!;
          }
          return score;
        });
        const maximum = scores.reduce((a, b) => Math.max(a, b));
        const weights = scores.map((score) => Math.exp(score - maximum));
        const total = weights.reduce((a, b) => a + b);
        sources.forEach((source, j) => {
          for (let i = 0; source !== undefined && i < width; i++) {
            y[r * queryWidth + h * width + i]! +=
              (weights[j]! / total) * values[source * keyWidth + g * width + i]!;
          }
        });
      }
    });
    return y;
  };

  return {
    name: `${options.title}${projection ? ' projected' : ''} H${heads} G${kvHeads} K${width} ${dtype} ${mode} rows=${rows.length}`,
    rows: {
      count: rows.length,
      positions,
      slots: Int32Array.from(rows, (row) => row.sequence.slot),
      visibleEnd,
    },
    inputs: {
      q: { rows: 'T', width: queryWidth, data: q },
      k: { rows: 'T', width: keyWidth, data: k },
      ...(mode !== 'keyIsValue' && { v: { rows: 'T', width: keyWidth, data: v } }),
      ...(mode === 'shared' && { sharedQ: { rows: 'T', width: queryWidth, data: sharedQ } }),
    },
    record,
    // The rope table, and an attention with preparation.
    fusedCommands: { plain: 2, prepared: 2, keyIsValue: 2, shared: 3 }[mode] + (projection ? 1 : 0),
    outputs: mode === 'shared' ? ['y', 'shared'] : ['y'],
    oracle(): Results {
      const stored = (values: Float64Array) => values.map((value) => roundTo(dtype, value));
      const keys = stored(prepare(k, kvHeads, keyGain.values, true));
      const values = stored(prepare(mode === 'keyIsValue' ? k : v, kvHeads, null, false));
      const attended = attend(prepare(q, heads, smallGain.values, true), keys, values);
      const y = projection ? linearOracle(attended, projection) : attended;
      if (mode !== 'shared') return { y };
      return { y, shared: attend(prepare(sharedQ, heads, smallGain.values, true), keys, values) };
    },
    // Scores of a few units are accurate to about 1e-6, and so are their exponentials. A value rounded to bf16 for the
    // cache after a float32 norm may round differently than after a float64 one.
    tolerance:
      isPrepared && dtype === 'BF16' ? { absolute: 1e-2, relative: 0 } : { absolute: 1e-5, relative: 1e-5 },
    // Queries, weights and, for float32 caches, keys and values are rounded to 8 bits of precision.
    fastTolerance: { absolute: 5e-2, relative: 3e-2 },
    fastKernelsFor: options.fastKernelsFor ?? 'many-rows',
    chunks: options.chunks ?? (block ? [] : undefined),
    equivalents: options.equivalents,
  };
}
