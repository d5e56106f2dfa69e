// Long because it implements the whole vocabulary, one short method an operation.
import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import { CONV_TAPS } from '../../families/conv2d/node.js';
import type { ElementwiseNode } from '../../families/elementwise/node.js';
import { MAX_LOCAL_REACH } from '../../families/local_attention/node.js';
import type { AnyExpertMatrix } from '../../families/moe_linear/node.js';
import type { Routing } from '../../families/moe_route/node.js';
import { MAX_TOP_LOGPROBS } from '../../families/sample/node.js';
import type { Axis, RowAxis } from '../axes.js';
import type { DeviceBuffer } from '../device.js';
import type { Ops } from '../ops/ops.js';
import type { Value } from '../ops/value.js';
import type { ConvKernel, DepthwiseKernel, ExpertMatrix, KvCache, Matrix, Vector } from '../weights.js';
import type { Graph, Node, Rows } from './graph.js';

type AnyValue = Value<Rows, Axis>;

/** What a recording may hold, and how constants get to the device. */
export interface RecorderLimits {
  readonly maxRows: number;
  readonly maxOutputs: number;
  upload(bytes: Uint8Array, label: string): DeviceBuffer;
}

/** Records operations into a graph. Every size is checked here, once; replaying trusts the program. */
export class Recorder implements Ops {
  readonly graph: Graph = { nodes: [], values: [], inputs: new Map(), outputs: new Map() };
  readonly #limits: RecorderLimits;
  #scope = '';

  constructor(limits: RecorderLimits) {
    this.#limits = limits;
  }

  embed<A extends Axis>(
    table: Matrix<'V', A>,
    options: { scale: number; ids?: 'token' | 'layerToken' },
  ): Value<'T', A> {
    const y = this.#value<'T', A>('T', table.columns);
    const ids = options.ids ?? 'token';
    this.#push({
      kind: 'embed',
      label: this.#label('embed'),
      table,
      ids,
      scale: options.scale,
      soft: null,
      y: y.id,
    });
    return y;
  }

  insertSoftTokens<A extends Axis>(x: Value<'T', A>, soft: Value<'S', A>): Value<'T', A> {
    this.#expectWidth('insertSoftTokens', 'soft', soft, x.width);
    const index = this.graph.nodes.length - 1;
    const last = this.graph.nodes[index];
    if (last?.kind !== 'embed' || last.y !== x.id) {
      throw new InvalidArgumentError({
        argument: 'insertSoftTokens: x',
        expected: 'the result of the embed recorded just before',
        received: last?.kind,
      });
    }
    this.graph.nodes[index] = { ...last, soft: soft.id };
    return x;
  }

  input<R extends RowAxis | 'S', A extends Axis>(
    name: string,
    rows: R,
    width: { axis: A; size: number; maxRows?: number },
  ): Value<R, A> {
    if (this.graph.inputs.has(name)) {
      throw new InvalidArgumentError({
        argument: 'input name',
        expected: 'a name of its own',
        received: name,
      });
    }
    const value = this.#value<R, A>(rows, width.size, rows === 'S' ? width.maxRows : undefined);
    this.graph.inputs.set(name, value.id);
    return value;
  }

  output(name: string, value: Value<RowAxis, Axis>): void {
    if (this.graph.outputs.has(name)) {
      throw new InvalidArgumentError({
        argument: 'output name',
        expected: 'a name of its own',
        received: name,
      });
    }
    this.graph.outputs.set(name, value.id);
  }

  rmsNorm<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    gain: Vector<A> | null,
    options: { eps: number },
  ): Value<R, A> {
    return this.rmsNormHeads<R, A, A>(x, gain, { ...options, heads: 1 });
  }

  rmsNormHeads<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; heads: number },
  ): Value<R, A> {
    const width = this.#headWidth('rmsNorm', x, options.heads);
    if (gain) this.#expectLength('rmsNorm', 'gain', gain, width);
    const y = this.#value<R, A>(x.rows, x.width);
    this.#push({
      kind: 'rmsNorm',
      label: this.#label('rms_norm'),
      x: x.id,
      gain,
      groups: options.heads,
      eps: options.eps,
      residual: null,
      outputScale: 1,
      y: y.id,
    });
    return y;
  }

  addBias<R extends RowAxis, A extends Axis>(x: Value<R, A>, bias: Vector<A>): Value<R, A> {
    this.#expectLength('addBias', 'bias', bias, x.width);
    return this.#columnAffine('add_bias', x, bias, 1, null);
  }

  standardise<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    bias: Vector<A>,
    scale: Vector<A>,
  ): Value<R, A> {
    this.#expectLength('standardise', 'bias', bias, x.width);
    this.#expectLength('standardise', 'scale', scale, x.width);
    return this.#columnAffine('standardise', x, bias, -1, scale);
  }

  linear<R extends RowAxis, Out extends Axis, In extends Axis>(
    x: Value<R, In>,
    weight: Matrix<Out, NoInfer<In>>,
    options?: { isExact: boolean },
  ): Value<R, Out> {
    if (weight.columns !== x.width) {
      throw new ShapeMismatchError({
        operation: 'linear',
        argument: 'weight',
        expected: `[*, ${x.width}]`,
        received: `[${weight.rows}, ${weight.columns}]`,
      });
    }
    const y = this.#value<R, Out>(x.rows, weight.rows);
    this.#push({
      kind: 'linear',
      label: this.#label('linear'),
      x: x.id,
      residual: null,
      norm: null,
      gathered: null,
      weights: [{ matrix: weight, y: y.id }],
      epilogue: { kind: 'store' },
      isExact: options?.isExact ?? false,
    });
    return y;
  }

  moeRoute<R extends RowAxis>(
    logits: Value<R, 'E'>,
    perExpertScale: Vector<'E'>,
    options: { topK: number; scale: number },
  ): Routing<R> {
    this.#expectWidth('moeRoute', 'logits', logits, perExpertScale.length);
    const { topK, scale } = options;
    if (!Number.isInteger(topK) || topK < 1 || topK > logits.width) {
      const expected = `1 to ${logits.width} experts`;
      throw new InvalidArgumentError({ argument: 'moeRoute: topK', expected, received: topK });
    }
    const experts = this.#value<R, 'X'>(logits.rows, topK);
    const shares = this.#value<R, 'X'>(logits.rows, topK);
    const routing = { logits: logits.id, perExpertScale, scale, topK, shares: shares.id };
    this.#push({ kind: 'moeRoute', label: this.#label('moe_route'), routing, experts: experts.id });
    return { experts, shares };
  }

  moeLinear<R extends RowAxis, Out extends 'F' | 'D', In extends 'F' | 'D'>(
    x: Value<R, In | `X${In}`>,
    weight: ExpertMatrix<Out, In>,
    routing: Routing<NoInfer<R>>,
  ): Value<R, `X${Out}`> {
    checkExpertMatrix(weight);
    const { experts } = routing;
    const hasSlices = x.width !== weight.columns;
    if (hasSlices) this.#expectWidth('moeLinear', 'x', x, experts.width * weight.columns);
    this.#expectRows('moeLinear', 'routing', experts, x);
    const y = this.#value<R, `X${Out}`>(x.rows, experts.width * weight.rows);
    this.#push({
      kind: 'moeLinear',
      label: this.#label('moe_linear'),
      x: x.id,
      hasSlices,
      norm: null,
      routing: null,
      experts: experts.id,
      weights: [{ matrix: weight, y: y.id }],
      epilogue: { kind: 'store' },
    });
    return y;
  }

  moeCombine<R extends RowAxis>(x: Value<R, 'XD'>, routing: Routing<NoInfer<R>>): Value<R, 'D'> {
    const { shares } = routing;
    this.#expectRows('moeCombine', 'routing', shares, x);
    const y = this.#value<R, 'D'>(x.rows, this.#headWidth('moeCombine', x, shares.width));
    const label = this.#label('moe_combine');
    this.#push({ kind: 'moeCombine', label, x: x.id, shares: shares.id, y: y.id });
    return y;
  }

  add<R extends RowAxis, A extends Axis>(a: Value<R, A>, b: Value<NoInfer<R>, NoInfer<A>>): Value<R, A> {
    return this.#elementwise('add', a, b, 1);
  }

  scale<R extends RowAxis, A extends Axis>(x: Value<R, A>, factor: number): Value<R, A> {
    return this.#elementwise('scale', x, null, factor);
  }

  geglu<R extends RowAxis, A extends Axis>(
    gate: Value<R, A>,
    up: Value<NoInfer<R>, NoInfer<A>>,
  ): Value<R, A> {
    return this.#elementwise('geglu', gate, up, 1);
  }

  silu<R extends RowAxis, A extends Axis>(x: Value<R, A>): Value<R, A> {
    return this.#elementwise('glu', x, x, 1);
  }

  glu<R extends RowAxis, A extends Axis>(x: Value<R, A>, gate: Value<NoInfer<R>, NoInfer<A>>): Value<R, A> {
    return this.#elementwise('glu', x, gate, 1);
  }

  softcap<R extends RowAxis, A extends Axis>(x: Value<R, A>, cap: number): Value<R, A> {
    if (!(cap > 0))
      throw new InvalidArgumentError({ argument: 'softcap: cap', expected: 'a number > 0', received: cap });
    return this.#elementwise('softcap', x, null, cap);
  }

  clamp<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    range: { low: number; high: number },
  ): Value<R, A> {
    const { low, high } = range;
    if (!(low <= high)) {
      const received = `${low} to ${high}`;
      throw new InvalidArgumentError({ argument: 'clamp: range', expected: 'low <= high', received });
    }
    return this.#elementwise('clamp', x, null, low, high);
  }

  columns<R extends RowAxis, A extends Axis, To extends Axis>(
    x: Value<R, A>,
    range: { axis: To; begin: number; width: number },
  ): Value<R, To> {
    const { begin, width } = range;
    if (begin < 0 || width < 1 || begin + width > x.width) {
      throw new ShapeMismatchError({
        operation: 'columns',
        argument: 'range',
        expected: `inside of [0, ${x.width})`,
        received: `[${begin}, ${begin + width})`,
      });
    }
    const view = this.graph.values[x.id]!.view;
    return this.#value<R, To>(x.rows, width, undefined, {
      base: view?.base ?? x.id,
      offset: (view?.offset ?? 0) + begin,
    });
  }

  ropeTable<R extends RowAxis>(rows: R, inverseFrequencies: Vector<'K'>): Value<R, 'K'> {
    const y = this.#value<R, 'K'>(rows, 2 * inverseFrequencies.length);
    this.#push({ kind: 'ropeTable', label: this.#label('rope_table'), inverseFrequencies, y: y.id });
    return y;
  }

  rope<R extends RowAxis, A extends 'HK' | 'GK'>(
    x: Value<R, A>,
    table: Value<NoInfer<R>, 'K'>,
    options: { heads: number; axes?: number },
  ): Value<R, A> {
    const { heads, axes = 1 } = options;
    const width = this.#headWidth('rope', x, heads);
    this.#expectWidth('rope', 'table', table, width);
    if (!Number.isInteger(axes) || axes < 1 || width % (2 * axes) !== 0) {
      const expected = `parts of an even width of a head of ${width}`;
      throw new InvalidArgumentError({ argument: 'rope: axes', expected, received: axes });
    }
    this.#expectRows('rope', 'table', table, x);
    const y = this.#value<R, A>(x.rows, x.width);
    this.#push({
      kind: 'rope',
      label: this.#label('rope'),
      x: x.id,
      table: table.id,
      heads,
      axes,
      y: y.id,
    });
    return y;
  }

  appendKv<R extends RowAxis>(cache: KvCache, k: Value<R, 'GK'>, v: Value<NoInfer<R>, 'GK'>): void {
    const width = cache.kvHeadCount * cache.headWidth;
    this.#expectWidth('appendKv', 'k', k, width);
    this.#expectWidth('appendKv', 'v', v, width);
    this.#expectRows('appendKv', 'v', v, k);
    this.#push({ kind: 'kvAppend', label: this.#label('kv_append'), cache, k: k.id, v: v.id });
  }

  copyKv<R extends RowAxis>(cache: KvCache, source: Value<R, 'X'>): void {
    this.#expectWidth('copyKv', 'source', source, 1);
    this.#push({ kind: 'kvCopy', label: this.#label('kv_copy'), cache, source: source.id });
  }

  attention<R extends RowAxis>(
    q: Value<R, 'HK'>,
    cache: KvCache,
    options: { heads: number },
  ): Value<R, 'HK'> {
    this.#expectWidth('attention', 'q', q, options.heads * cache.headWidth);
    if (options.heads % cache.kvHeadCount !== 0) {
      throw new ShapeMismatchError({
        operation: 'attention',
        argument: 'heads',
        expected: `a multiple of ${cache.kvHeadCount} key/value heads`,
        received: String(options.heads),
      });
    }
    const y = this.#value<R, 'HK'>(q.rows, q.width);
    this.#push({
      kind: 'attention',
      label: this.#label('attention'),
      q: q.id,
      cache,
      heads: options.heads,
      prepare: null,
      y: y.id,
    });
    return y;
  }

  segmentAttention<R extends RowAxis>(
    q: Value<R, 'HK'>,
    k: Value<R, 'GK'>,
    v: Value<R, 'GK'>,
    options: { heads: number; kvHeads: number },
  ): Value<R, 'HK'> {
    const { heads, kvHeads } = options;
    const width = this.#headWidth('segmentAttention', q, heads);
    this.#expectRows('segmentAttention', 'k', k, q);
    this.#expectRows('segmentAttention', 'v', v, q);
    this.#expectWidth('segmentAttention', 'k', k, kvHeads * width);
    this.#expectWidth('segmentAttention', 'v', v, kvHeads * width);
    if (heads % kvHeads !== 0 || width % 2 !== 0) {
      throw new ShapeMismatchError({
        operation: 'segmentAttention',
        argument: 'heads',
        expected: `a multiple of ${kvHeads} key/value heads, of an even width`,
        received: `${heads} heads of ${width}`,
      });
    }
    const y = this.#value<R, 'HK'>(q.rows, q.width);
    this.#push({
      kind: 'segmentAttention',
      label: this.#label('segment_attention'),
      q: q.id,
      k: k.id,
      v: v.id,
      heads,
      kvHeads,
      prepare: null,
      y: y.id,
    });
    return y;
  }

  layerNorm<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; groups?: number; bias?: Vector<NoInfer<W>> | null },
  ): Value<R, A> {
    const { eps, groups = 1, bias = null } = options;
    const width = this.#headWidth('layerNorm', x, groups);
    for (const [argument, vector] of Object.entries({ gain, bias })) {
      if (!vector || vector.length === width) continue;
      const [expected, received] = [`[${width}]`, `[${vector.length}]`];
      throw new ShapeMismatchError({ operation: 'layerNorm', argument, expected, received });
    }
    const y = this.#value<R, A>(x.rows, x.width);
    this.#push({
      kind: 'layerNorm',
      label: this.#label('layer_norm'),
      x: x.id,
      gain,
      bias,
      groups,
      eps,
      y: y.id,
    });
    return y;
  }

  poolRows<A extends Axis>(x: Value<'T', A>, options: { count: number; scale: number }): Value<'N', A> {
    const { count, scale } = options;
    if (!Number.isInteger(count) || count < 1) {
      const expected = 'a whole number of rows, from 1';
      throw new InvalidArgumentError({ argument: 'poolRows: count', expected, received: count });
    }
    const y = this.#value<'N', A>('N', x.width);
    this.#push({ kind: 'poolRows', label: this.#label('pool_rows'), x: x.id, count, scale, y: y.id });
    return y;
  }

  conv2d<A extends Axis>(
    x: Value<'T', A>,
    kernel: ConvKernel,
    options: { times: number; mask: Value<'T', Axis> },
  ): Value<'T', 'C'> {
    const { times, mask } = options;
    if (!Number.isInteger(times) || times < 2 || times % 2 !== 0) {
      throw new InvalidArgumentError({
        argument: 'conv2d: times',
        expected: 'an even number of time steps',
        received: times,
      });
    }
    const stepWidth = this.#headWidth('conv2d', x, times);
    if (stepWidth % kernel.inChannels !== 0) {
      throw new ShapeMismatchError({
        operation: 'conv2d',
        argument: 'x',
        expected: `[T, ${times} steps of frequencies · ${kernel.inChannels} channels]`,
        received: `[T, ${x.width}]`,
      });
    }
    this.#headWidth('conv2d', mask, times);
    const frequencies = stepWidth / kernel.inChannels;
    const pad = (CONV_TAPS - 1) / 2;
    const outFrequencies = Math.floor((frequencies + 2 * pad - CONV_TAPS) / 2) + 1;
    const y = this.#value<'T', 'C'>('T', (times / 2) * outFrequencies * kernel.outChannels);
    const label = this.#label('conv2d');
    this.#push({ kind: 'conv2d', label, x: x.id, mask: mask.id, kernel, times, frequencies, y: y.id });
    return y;
  }

  causalConv<A extends Axis>(x: Value<'T', A>, kernel: DepthwiseKernel<NoInfer<A>>): Value<'T', A> {
    this.#expectWidth('causalConv', 'x', x, kernel.channels);
    const y = this.#value<'T', A>('T', x.width);
    this.#push({ kind: 'causalConv', label: this.#label('causal_conv'), x: x.id, kernel, y: y.id });
    return y;
  }

  localAttention(
    q: Value<'T', 'HK'>,
    k: Value<'T', 'HK'>,
    v: Value<'T', 'HK'>,
    options: Parameters<Ops['localAttention']>[3],
  ): Value<'T', 'HK'> {
    const { heads, reach, queryScale, relativeKeys } = options;
    const operation = 'localAttention';
    for (const [argument, value] of Object.entries({ q, k, v })) {
      this.#expectWidth(operation, argument, value, relativeKeys.width);
    }
    this.#expectFloats(operation, 'queryScale', queryScale, this.#headWidth(operation, q, heads));
    const most = Math.min(relativeKeys.distances, MAX_LOCAL_REACH);
    if (!Number.isInteger(reach) || reach < 1 || reach > most) {
      const expected = `1 to ${most} keys`;
      throw new InvalidArgumentError({ argument: `${operation}: reach`, expected, received: reach });
    }
    if (!(options.cap > 0)) {
      const received = options.cap;
      throw new InvalidArgumentError({ argument: `${operation}: cap`, expected: 'a number > 0', received });
    }
    const y = this.#value<'T', 'HK'>('T', q.width);
    const label = this.#label('local_attention');
    this.#push({ ...options, kind: operation, label, q: q.id, k: k.id, v: v.id, y: y.id });
    return y;
  }

  gatherRows<A extends Axis>(x: Value<'T', A>): Value<'N', A> {
    const y = this.#value<'N', A>('N', x.width);
    this.#push({ kind: 'gatherRows', label: this.#label('gather_rows'), x: x.id, y: y.id });
    return y;
  }

  sample(logits: Value<'N', 'V'>, options: { suppressed?: readonly number[] } = {}): void {
    const ids = options.suppressed ?? [];
    const bytes = new Uint8Array(Int32Array.from(ids).buffer);
    const suppressed =
      ids.length === 0 ? null : { ids: this.#limits.upload(bytes, 'suppressed ids'), count: ids.length };
    const tokens = this.#value('N', 1);
    const logprobs = this.#value('N', 1);
    const topTokens = this.#value('N', MAX_TOP_LOGPROBS);
    const topLogprobs = this.#value('N', MAX_TOP_LOGPROBS);
    this.#push({
      kind: 'sample',
      label: this.#label('sample'),
      logits: logits.id,
      suppressed,
      tokens: tokens.id,
      logprobs: logprobs.id,
      topTokens: topTokens.id,
      topLogprobs: topLogprobs.id,
    });
  }

  scope<Result>(name: string, body: () => Result): Result {
    const outer = this.#scope;
    this.#scope = outer === '' ? name : `${outer} / ${name}`;
    try {
      return body();
    } finally {
      this.#scope = outer;
    }
  }

  #elementwise<R extends RowAxis, A extends Axis>(
    op: ElementwiseNode['op'],
    a: Value<R, A>,
    b: Value<R, A> | null,
    scale: number,
    high = 0,
  ): Value<R, A> {
    if (b) {
      this.#expectWidth(op, 'second operand', b, a.width);
      this.#expectRows(op, 'second operand', b, a);
    }
    const y = this.#value<R, A>(a.rows, a.width);
    const label = this.#label(op);
    this.#push({ kind: 'elementwise', label, op, a: a.id, b: b?.id ?? null, scale, high, y: y.id });
    return y;
  }

  #columnAffine<R extends RowAxis, A extends Axis>(
    operation: string,
    x: Value<R, A>,
    shift: Vector<A>,
    factor: 1 | -1,
    gain: Vector<A> | null,
  ): Value<R, A> {
    const y = this.#value<R, A>(x.rows, x.width);
    const label = this.#label(operation);
    this.#push({ kind: 'columnAffine', label, x: x.id, shift, factor, gain, y: y.id });
    return y;
  }

  #value<R extends Rows, A extends Axis>(
    rows: R,
    width: number,
    ownRows?: number,
    view: { base: number; offset: number } | null = null,
  ): Value<R, A> {
    const { maxRows, maxOutputs } = this.#limits;
    const id = this.graph.values.length;
    const limit = rows === 'N' ? maxOutputs : maxRows;
    this.graph.values.push({ id, rows, width, maxRows: ownRows ?? limit, view });
    return { id, rows, width };
  }

  #push(node: Node): void {
    this.graph.nodes.push(node);
  }

  #label(operation: string): string {
    return this.#scope === '' ? operation : `${this.#scope} / ${operation}`;
  }

  #headWidth(operation: string, x: AnyValue, heads: number): number {
    if (!Number.isInteger(heads) || heads < 1 || x.width % heads !== 0) {
      throw new ShapeMismatchError({
        operation,
        argument: 'heads',
        expected: `a divisor of the width ${x.width}`,
        received: String(heads),
      });
    }
    return x.width / heads;
  }

  #expectWidth(operation: string, argument: string, value: AnyValue, width: number): void {
    if (value.width !== width) {
      const [expected, received] = [`[${value.rows}, ${width}]`, `[${value.rows}, ${value.width}]`];
      throw new ShapeMismatchError({ operation, argument, expected, received });
    }
  }

  #expectLength(operation: string, argument: string, vector: Vector<Axis>, length: number): void {
    if (vector.length !== length) {
      const [expected, received] = [`[${length}]`, `[${vector.length}]`];
      throw new ShapeMismatchError({ operation, argument, expected, received });
    }
  }

  #expectFloats(operation: string, argument: string, vector: Vector<Axis>, length: number): void {
    if (vector.length === length && vector.dtype === 'F32') return;
    const [expected, received] = [`F32 [${length}]`, `${vector.dtype} [${vector.length}]`];
    throw new ShapeMismatchError({ operation, argument, expected, received });
  }

  #expectRows(operation: string, argument: string, value: AnyValue, like: AnyValue): void {
    if (value.rows !== like.rows) {
      const [expected, received] = [`[${like.rows}, ${value.width}]`, `[${value.rows}, ${value.width}]`];
      throw new ShapeMismatchError({ operation, argument, expected, received });
    }
  }
}

/** The rows of every expert must lie inside of its part of the stored matrix. */
function checkExpertMatrix({
  expertCount,
  rows,
  columns,
  rowsPerExpert,
  firstRow,
  stored,
}: AnyExpertMatrix): void {
  const fits = rows >= 1 && firstRow >= 0 && firstRow + rows <= rowsPerExpert;
  if (fits && stored.rows === expertCount * rowsPerExpert && stored.columns === columns) return;
  throw new ShapeMismatchError({
    operation: 'moeLinear',
    argument: 'weight',
    expected: `rows [${firstRow}, ${firstRow + rows}) of ${expertCount} experts in [${expertCount} * ${rowsPerExpert}, ${columns}]`,
    received: `[${stored.rows}, ${stored.columns}]`,
  });
}
