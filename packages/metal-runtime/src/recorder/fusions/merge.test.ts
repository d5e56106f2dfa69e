import { describe, expect, it } from 'vitest';
import type { Axis } from '../../axes.js';
import type { DeviceBuffer } from '../../device-buffer.js';
import type { KvCache, Matrix, Vector } from '../../weights.js';
import { planMemory } from '../plan.js';
import { createRecorder, type Recorder } from '../recorder.js';
import { fuse } from './index.js';

const EPS = 1e-6;
const buffer: DeviceBuffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };

function vector<A extends Axis>(length: number): Vector<A> {
  return { length, dtype: 'F32', data: buffer };
}

function matrix<Out extends Axis, In extends Axis>(rows: number, columns: number): Matrix<Out, In> {
  return { kind: 'plain', dtype: 'F32', rows, columns, weight: buffer };
}

const CACHE: KvCache = {
  keys: buffer,
  values: buffer,
  blockCount: 1,
  capacityTokens: 16,
  kvHeadCount: 1,
  headWidth: 32,
  windowTokens: null,
  dtype: 'F32',
};

const recorder = () => createRecorder({ maxRows: 8, maxOutputs: 8, upload: () => buffer });

/** The merges of a recording, by name and kinds of nodes; the parts of each are adjacent. */
function mergesOf(ops: Recorder, fusions?: false | { without: readonly string[] }): [string, ...string[]][] {
  return fuse(ops.graph, fusions).map(({ name, parts }) => {
    const first = ops.graph.nodes.indexOf(parts[0]!);
    expect(ops.graph.nodes.slice(first, first + parts.length)).toEqual(parts);
    return [name, ...parts.map(({ kind }) => kind)];
  });
}

/** Two branches that are normalised and added; the first norm is recorded long before the second. */
function recordBranches(ops: Recorder) {
  const a = ops.input('a', 'T', { axis: 'D', size: 64 });
  const b = ops.input('b', 'T', { axis: 'D', size: 64 });
  const norm = ops.rmsNorm(a, vector<'D'>(64), { eps: EPS });
  const sum = ops.add(norm, ops.rmsNorm(ops.scale(b, 2), vector<'D'>(64), { eps: EPS }));
  ops.output('sum', sum);
  return { a, norm, sum };
}

/** Products that are scaled and normalised in groups. */
function recordProjection(ops: Recorder) {
  const x = ops.input('x', 'T', { axis: 'D', size: 64 });
  const product = ops.linear(ops.scale(x, 3), matrix<'LP', 'D'>(128, 64));
  const scaled = ops.scale(product, 0.5);
  ops.output('y', ops.rmsNormHeads(scaled, vector<'P'>(16), { eps: EPS, heads: 8 }));
  return { product, scaled };
}

function recordAttention(ops: Recorder, name = 'q') {
  const attended = ops.attention(ops.input(name, 'T', { axis: 'HK', size: 128 }), CACHE, { heads: 4 });
  return { attended, weight: matrix<'D', 'HK'>(64, 128) };
}

describe('merges', () => {
  it('begin a step with up to two embeddings and two rope tables of all rows', () => {
    const ops = recorder();
    const soft = ops.input('soft', 'S', { axis: 'D', size: 64, maxRows: 4 });
    const x = ops.insertSoftTokens(ops.embed(matrix<'V', 'D'>(100, 64), { scale: 1 }), soft);
    ops.output('x', ops.scale(x, 2));
    for (const rows of ['T', 'N', 'T', 'T'] as const) ops.ropeTable(rows, vector<'K'>(16));
    ops.output('y', ops.scale(ops.embed(matrix<'V', 'LP'>(100, 128), { scale: 1 }), 2));
    expect(mergesOf(ops)).toEqual([['begin-step', 'embed', 'ropeTable', 'ropeTable', 'embed']]);
    // Rope tables of the output rows, and one more than the maximum, stay where they are.
    expect(ops.graph.nodes.map(({ kind }) => kind).slice(4)).toEqual([
      'elementwise',
      'ropeTable',
      'ropeTable',
      'elementwise',
    ]);
  });

  it('include a scaled product that only a norm reads', () => {
    const ops = recorder();
    recordProjection(ops);
    expect(mergesOf(ops)).toEqual([['linear-scale-norm', 'linear', 'elementwise', 'rmsNorm']]);
    for (const kept of ['product', 'scaled'] as const) {
      const other = recorder();
      other.output('kept', recordProjection(other)[kept]);
      expect(mergesOf(other), kept).toEqual([]);
    }
  });

  it('combine two norms, the second of which adds the first', () => {
    const ops = recorder();
    recordBranches(ops);
    expect(mergesOf(ops)).toEqual([['norm-pair', 'rmsNorm', 'rmsNorm']]);
    const other = recorder();
    other.output('kept', recordBranches(other).norm);
    expect(mergesOf(other)).toEqual([]);
  });

  it('include the linear right after an attention that no other node reads', () => {
    const ops = recorder();
    const { attended, weight } = recordAttention(ops);
    ops.output('y', ops.linear(attended, weight));
    expect(mergesOf(ops)).toEqual([['attention-linear', 'attention', 'linear']]);

    const read = recorder();
    const own = recordAttention(read);
    read.output('y', read.linear(own.attended, own.weight));
    read.output('z', read.scale(own.attended, 2));
    expect(mergesOf(read)).toEqual([]);

    // An attention is not moved: nodes in between may write the cache that it reads.
    const apart = recorder();
    const early = recordAttention(apart);
    recordAttention(apart, 'other');
    apart.output('y', apart.linear(early.attended, early.weight));
    expect(mergesOf(apart)).toEqual([]);
  });

  it('can be switched off one by one, or together with the fusions', () => {
    for (const [without, left] of [
      [false, []],
      [{ without: ['norm-pair'] }, ['linear-scale-norm']],
      [{ without: ['linear-scale-norm'] }, ['norm-pair']],
    ] as const) {
      const ops = recorder();
      recordBranches(ops);
      recordProjection(ops);
      expect(mergesOf(ops, without).map(([name]) => name)).toEqual(left);
    }
  });

  it('never store a value over one that a part still reads, and do not expose intermediate values', () => {
    const ops = recorder();
    const { a, sum } = recordBranches(ops);
    const merges = fuse(ops.graph, undefined);
    const apart = planMemory(ops.graph, merges);
    expect(apart.offsetOf(sum.id)).not.toBe(apart.offsetOf(a.id));

    const projection = recorder();
    const { product, scaled } = recordProjection(projection);
    const found = fuse(projection.graph, undefined);
    expect(found.map(({ between }) => between)).toEqual([[product.id, scaled.id]]);
    // The input rows, and two of the three values derived from them: the result may reuse the memory of the product.
    const floats = 8 * (64 + 2 * 128);
    expect(planMemory(projection.graph, found).arenaBytes).toBe(floats * 4);
  });
});
