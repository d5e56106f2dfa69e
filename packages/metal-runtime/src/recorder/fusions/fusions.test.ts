import { describe, expect, it } from 'vitest';
import type { Axis } from '../../axes.js';
import type { DeviceBuffer } from '../../device-buffer.js';
import type { Ops } from '../../ops.js';
import type { Value } from '../../value.js';
import type { KvCache, Matrix, Vector } from '../../weights.js';
import type { Graph } from '../graph.js';
import { createRecorder } from '../recorder.js';
import { fuse } from './index.js';

const HEADS = 4;
const WIDTH = {
  D: 64,
  F: 128,
  HK: 128,
  GK: 32,
  K: 32,
  P: 16,
  LP: 32,
  V: 100,
  E: 8,
  X: 2,
  XF: 128,
  XD: 128,
  M: 64,
  C: 64,
  U: 64,
} as const;

const buffer: DeviceBuffer = { sizeBytes: 4, dispose() {}, [Symbol.dispose]() {} };

function vector<A extends Axis>(axis: A, length: number = WIDTH[axis]): Vector<A> {
  return { length, dtype: 'F32', data: buffer };
}

function matrix<Out extends Axis, In extends Axis>(out: Out, input: In): Matrix<Out, In> {
  return { kind: 'plain', dtype: 'F32', rows: WIDTH[out], columns: WIDTH[input], weight: buffer };
}

function cache(): KvCache {
  const keys: DeviceBuffer = { ...buffer };
  return {
    keys,
    values: buffer,
    blockCount: 1,
    capacityTokens: 16,
    kvHeadCount: 1,
    headWidth: WIDTH.K,
    windowTokens: null,
    dtype: 'F32',
  };
}

interface LayerOptions {
  readonly cache: KvCache;
  readonly sharesKv: boolean;
  readonly hasPerLayer: boolean;
}

function recordLayer(
  ops: Ops,
  h: Value<'T', 'D'>,
  table: Value<'T', 'K'>,
  perLayer: Value<'T', 'LP'>,
  options: LayerOptions,
): Value<'T', 'D'> {
  const eps = 1e-6;
  const x = ops.rmsNorm(h, vector('D'), { eps });
  const rotate = <A extends 'HK' | 'GK'>(raw: Value<'T', A>, heads: number) =>
    ops.rope(ops.rmsNormHeads(raw, vector('K'), { eps, heads }), table, { heads });
  const q = rotate(ops.linear(x, matrix('HK', 'D')), HEADS);
  if (!options.sharesKv) {
    const k = rotate(ops.linear(x, matrix('GK', 'D')), 1);
    const v = ops.rmsNormHeads(ops.linear(x, matrix('GK', 'D')), null, { eps, heads: 1 });
    ops.appendKv(options.cache, k, v);
  }
  const attended = ops.linear(ops.attention(q, options.cache, { heads: HEADS }), matrix('D', 'HK'));
  let stream = ops.add(h, ops.rmsNorm(attended, vector('D'), { eps }));
  const y = ops.rmsNorm(stream, vector('D'), { eps });
  const gated = ops.geglu(ops.linear(y, matrix('F', 'D')), ops.linear(y, matrix('F', 'D')));
  stream = ops.add(stream, ops.rmsNorm(ops.linear(gated, matrix('D', 'F')), vector('D'), { eps }));
  if (options.hasPerLayer) {
    const slice = ops.columns(perLayer, { axis: 'P', begin: 0, width: WIDTH.P });
    const gate = ops.geglu(ops.linear(stream, matrix('P', 'D')), slice);
    stream = ops.add(stream, ops.rmsNorm(ops.linear(gate, matrix('D', 'P')), vector('D'), { eps }));
  }
  return ops.scale(stream, 0.5);
}

/** Records two layers and a head, and returns the graph. */
function record(options: Omit<LayerOptions, 'cache'>): Graph {
  const recorder = createRecorder({ maxRows: 8, maxOutputs: 8, upload: () => buffer });
  const h = recorder.input('h', 'T', { axis: 'D', size: WIDTH.D });
  const perLayer = recorder.input('ple', 'T', { axis: 'LP', size: WIDTH.LP });
  const table = recorder.ropeTable('T', vector('K', WIDTH.K / 2));
  const shared = cache();
  let stream: Value<'T', 'D'> = h;
  for (let layer = 0; layer < 2; layer++) {
    const own = options.sharesKv ? shared : cache();
    stream = recordLayer(recorder, stream, table, perLayer, { ...options, cache: own });
  }
  const normed = recorder.rmsNorm(stream, vector('D'), { eps: 1e-6 });
  recorder.output('logits', recorder.softcap(recorder.linear(normed, matrix('V', 'D')), 30));
  return recorder.graph;
}

function kinds(graph: Graph): string[] {
  return graph.nodes.map((node) => (node.kind === 'linear' ? `linear.${node.epilogue.kind}` : node.kind));
}

const LAYER = ['linear.store', 'attention', 'linear.store', 'linear.geglu', 'linear.store'];
const PER_LAYER = ['linear.gegluMul', 'linear.store'];
const FRAME = { first: 'ropeTable', last: 'linear.softcap' };

describe('fuse', () => {
  it('needs five commands for a dense layer', () => {
    const graph = record({ sharesKv: false, hasPerLayer: false });
    fuse(graph, undefined);
    expect(kinds(graph)).toEqual([FRAME.first, ...LAYER, ...LAYER, FRAME.last]);
  });

  it('needs seven commands for a layer with per-layer embeddings', () => {
    const graph = record({ sharesKv: false, hasPerLayer: true });
    fuse(graph, undefined);
    expect(kinds(graph)).toEqual([FRAME.first, ...LAYER, ...PER_LAYER, ...LAYER, ...PER_LAYER, FRAME.last]);
  });

  it('prepares only the queries of a layer that shares keys and values', () => {
    const graph = record({ sharesKv: true, hasPerLayer: false });
    fuse(graph, undefined);
    const attention = graph.nodes.filter((node) => node.kind === 'attention');
    expect(attention.map((node) => node.prepare?.kv)).toEqual([null, null]);
  });

  it('moves the scale of a layer into the prologue of the next', () => {
    const graph = record({ sharesKv: false, hasPerLayer: false });
    fuse(graph, undefined);
    const scales = graph.nodes.flatMap((node) =>
      node.kind === 'linear' && node.residual ? [node.residual.scale] : [],
    );
    expect(scales).toEqual([1, 0.5, 1, 0.5]);
  });

  it('fuses a residual into a norm per head, but not that norm into the prologue of a linear', () => {
    const recorder = createRecorder({ maxRows: 1, maxOutputs: 1, upload: () => buffer });
    const x = recorder.input('x', 'T', { axis: 'D', size: WIDTH.D });
    const normed = recorder.rmsNormHeads(x, vector('K'), { eps: 1e-6, heads: WIDTH.D / WIDTH.K });
    const sum = recorder.scale(recorder.add(x, normed), 0.5);
    recorder.output('y', recorder.linear(sum, matrix('F', 'D')));
    fuse(recorder.graph, undefined);
    expect(kinds(recorder.graph)).toEqual(['rmsNorm', 'linear.store']);
    expect(recorder.graph.nodes[0]).toMatchObject({ residual: x.id, outputScale: 0.5, groups: 2 });
  });

  it('skips fusions that are switched off', () => {
    const graph = record({ sharesKv: false, hasPerLayer: false });
    fuse(graph, { without: ['prepare-attention', 'geglu'] });
    expect(kinds(graph).filter((kind) => kind === 'kvAppend')).toHaveLength(2);
    expect(kinds(graph)).not.toContain('linear.geglu');
  });

  it('does nothing if all fusions are off', () => {
    const graph = record({ sharesKv: false, hasPerLayer: true });
    const before = kinds(graph);
    fuse(graph, false);
    expect(kinds(graph)).toEqual(before);
  });

  it('keeps a value that is an output of the program', () => {
    const recorder = createRecorder({ maxRows: 1, maxOutputs: 1, upload: () => buffer });
    const x = recorder.input('x', 'T', { axis: 'D', size: WIDTH.D });
    const normed = recorder.rmsNorm(x, vector('D'), { eps: 1e-6 });
    recorder.output('normed', normed);
    recorder.output('y', recorder.linear(normed, matrix('F', 'D')));
    fuse(recorder.graph, undefined);
    expect(kinds(recorder.graph)).toEqual(['rmsNorm', 'linear.store']);
  });

  it('lists the known switches if one is unknown', () => {
    const graph = record({ sharesKv: false, hasPerLayer: false });
    expect(() => fuse(graph, { without: ['everything'] })).toThrow(/fusions.without.*linear-group/);
  });
});
