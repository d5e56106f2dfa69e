import { describe, expect, it } from 'vitest';
import type { Axis } from '../../axes.js';
import type { DeviceBuffer } from '../../device-buffer.js';
import type { Value } from '../../value.js';
import type { Matrix, Vector } from '../../weights.js';
import type { Graph } from '../graph.js';
import { createRecorder, type Recorder } from '../recorder.js';
import { fuse } from './index.js';

const [U, F, HEADS, AXES] = [64, 128, 4, 2];
const EPS = 1e-6;
const INPUT = { low: -2, high: 2 };
const OUTPUT = { low: -3, high: 1 };

const buffer: DeviceBuffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };
const vector = <A extends Axis>(length: number): Vector<A> => ({ length, dtype: 'F32', data: buffer });
const matrix = <Out extends Axis, In extends Axis>(rows: number, columns: number): Matrix<Out, In> => {
  return { kind: 'plain', dtype: 'F32', rows, columns, weight: buffer };
};

function recorderOf(): Recorder {
  return createRecorder({ maxRows: 8, maxOutputs: 2, upload: () => buffer });
}

function clipped<Out extends Axis, In extends Axis>(
  recorder: Recorder,
  x: Value<'T', In>,
  weight: Matrix<Out, In>,
): Value<'T', Out> {
  return recorder.clamp(recorder.linear(recorder.clamp(x, INPUT), weight), OUTPUT);
}

/**
 * Records two clipped blocks of an encoder, and returns the graph; `change` gets the values of the first one's
 * attention.
 */
function record(
  change?: (recorder: Recorder, values: Record<'q' | 'k' | 'v' | 'normed', number>) => void,
): Graph {
  const recorder = recorderOf();
  const table = recorder.input('rope', 'T', { axis: 'K', size: U / HEADS });
  let h: Value<'T', 'U'> = recorder.input('h', 'T', { axis: 'U', size: U });
  for (let layer = 0; layer < 2; layer++) {
    const x = recorder.rmsNorm(h, vector<'U'>(U), { eps: EPS });
    const [rawQ, rawK, rawV] = [
      clipped(recorder, x, matrix<'HK', 'U'>(U, U)),
      clipped(recorder, x, matrix<'GK', 'U'>(U, U)),
      clipped(recorder, x, matrix<'GK', 'U'>(U, U)),
    ];
    const norm = { eps: EPS, heads: HEADS };
    const normedQ = recorder.rmsNormHeads(rawQ, vector<'K'>(U / HEADS), norm);
    const q = recorder.rope(normedQ, table, { heads: HEADS, axes: AXES });
    const k = recorder.rope(recorder.rmsNormHeads(rawK, vector<'K'>(U / HEADS), norm), table, {
      heads: HEADS,
      axes: AXES,
    });
    const v = recorder.rmsNormHeads(rawV, null, norm);
    if (layer === 0) change?.(recorder, { q: q.id, k: k.id, v: v.id, normed: normedQ.id });
    const attended = recorder.segmentAttention(q, k, v, { heads: HEADS, kvHeads: HEADS });
    const mixed = clipped(recorder, attended, matrix<'U', 'HK'>(U, U));
    h = recorder.add(h, recorder.rmsNorm(mixed, vector<'U'>(U), { eps: EPS }));
    const y = recorder.rmsNorm(h, vector<'U'>(U), { eps: EPS });
    const gated = recorder.geglu(
      clipped(recorder, y, matrix<'F', 'U'>(F, U)),
      clipped(recorder, y, matrix<'F', 'U'>(F, U)),
    );
    const fed = clipped(recorder, gated, matrix<'U', 'F'>(U, F));
    h = recorder.add(h, recorder.rmsNorm(fed, vector<'U'>(U), { eps: EPS }));
  }
  recorder.output('pooled', recorder.poolRows(h, { count: 4, scale: 1 }));
  return recorder.graph;
}

function kinds(graph: Graph): string[] {
  return graph.nodes.map((node) => (node.kind === 'linear' ? `linear.${node.epilogue.kind}` : node.kind));
}

const BLOCK = ['linear.store', 'segmentAttention', 'linear.store', 'linear.geglu', 'linear.store'];

describe('the fusions of a tower', () => {
  it('leave five commands per block, whose linears do the clamping', () => {
    const graph = record();
    fuse(graph, undefined);
    expect(kinds(graph)).toEqual([...BLOCK, ...BLOCK, 'rmsNorm', 'poolRows']);
    const [first] = graph.nodes;
    if (first?.kind !== 'linear') throw new TypeError('the first command is not a linear');
    expect(first.weights).toHaveLength(3);
    for (const { clip } of first.weights) {
      expect(clip).toEqual({ inputLow: -2, inputHigh: 2, outputLow: -3, outputHigh: 1 });
    }
    expect(graph.nodes[1]).toMatchObject({ prepare: { axes: AXES, eps: EPS } });
  });

  it('can be switched off', () => {
    const graph = record();
    fuse(graph, { without: ['clip-linear', 'prepare-attention'] });
    expect(kinds(graph).filter((kind) => kind === 'elementwise').length).toBeGreaterThanOrEqual(28);
    expect(kinds(graph).filter((kind) => kind === 'rope')).toHaveLength(4);
  });

  it.each(['q', 'k', 'v', 'normed'] as const)('keep %s if another node reads it', (name) => {
    const graph = record((recorder, values) => {
      recorder.output('seen', { id: values[name], rows: 'T', width: U });
    });
    fuse(graph, undefined);
    const [own, other] = graph.nodes.filter((node) => node.kind === 'segmentAttention');
    expect(own).toMatchObject({ prepare: null });
    expect(other).toMatchObject({ prepare: { eps: EPS } });
  });

  it('keep a clamp that another node reads, on either side', () => {
    const recorder = recorderOf();
    const x = recorder.clamp(recorder.input('x', 'T', { axis: 'U', size: U }), INPUT);
    const y = recorder.linear(x, matrix<'F', 'U'>(F, U));
    recorder.output('x', x);
    recorder.output('y', y);
    recorder.output('z', recorder.clamp(y, OUTPUT));
    fuse(recorder.graph, undefined);
    expect(kinds(recorder.graph)).toEqual(['elementwise', 'linear.store', 'elementwise']);
  });

  it('combine two clamps into one clip', () => {
    const recorder = recorderOf();
    const x = recorder.input('x', 'T', { axis: 'U', size: U });
    const once = recorder.clamp(recorder.linear(x, matrix<'F', 'U'>(F, U)), OUTPUT);
    recorder.output('y', recorder.clamp(once, INPUT));
    fuse(recorder.graph, undefined);
    expect(kinds(recorder.graph)).toEqual(['linear.store']);
    const [linear] = recorder.graph.nodes;
    expect(linear).toMatchObject({ weights: [{ clip: { outputLow: INPUT.low, outputHigh: OUTPUT.high } }] });
  });
});

describe('recording a tower', () => {
  const recorder = recorderOf();
  const q = recorder.input('q', 'T', { axis: 'HK', size: U });
  const k = recorder.input('k', 'T', { axis: 'GK', size: U / 2 });

  it('rejects head counts that do not divide the width, and rows of another width', () => {
    const attend = (heads: number, kvHeads: number) => () =>
      recorder.segmentAttention(q, k, k, { heads, kvHeads });
    expect(attend(4, 2)).not.toThrow();
    expect(attend(3, 2)).toThrow('segmentAttention: heads');
    expect(attend(4, 4)).toThrow('segmentAttention: k');
  });

  it('rejects parts of a head without pairs, and an invalid number of rows to pool', () => {
    const table = recorder.input('table', 'T', { axis: 'K', size: U / 4 });
    expect(() => recorder.rope(q, table, { heads: 4, axes: 3 })).toThrow('rope: axes');
    expect(() => recorder.poolRows(q, { count: 0, scale: 1 })).toThrow('poolRows: count');
    expect(() => recorder.addBias(q, vector<'HK'>(U - 1))).toThrow('addBias: bias');
    expect(() => recorder.standardise(q, vector<'HK'>(U), vector<'HK'>(U - 1))).toThrow('standardise: scale');
  });
});
