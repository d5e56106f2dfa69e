// Long because it implements the whole vocabulary, one short method an operation.
import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import type { Axis, RowAxis } from '../axes.js';
import type { DeviceBuffer } from '../device.js';
import type { AnyExpertMatrix } from '../ops/moe-linear.js';
import type { Routing } from '../ops/moe-route.js';
import type { Ops } from '../ops/ops.js';
import { MAX_TOP_LOGPROBS } from '../ops/sample.js';
import type { Value } from '../ops/value.js';
import type { ExpertMatrix, KvCache, Matrix, Vector } from '../weights.js';
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
    if (gain && gain.length !== width) {
      throw new ShapeMismatchError({
        operation: 'rmsNorm',
        argument: 'gain',
        expected: `[${width}]`,
        received: `[${gain.length}]`,
      });
    }
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

  softcap<R extends RowAxis, A extends Axis>(x: Value<R, A>, cap: number): Value<R, A> {
    if (!(cap > 0))
      throw new InvalidArgumentError({ argument: 'softcap: cap', expected: 'a number > 0', received: cap });
    return this.#elementwise('softcap', x, null, cap);
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
    options: { heads: number },
  ): Value<R, A> {
    this.#expectWidth('rope', 'table', table, this.#headWidth('rope', x, options.heads));
    this.#expectRows('rope', 'table', table, x);
    const y = this.#value<R, A>(x.rows, x.width);
    this.#push({
      kind: 'rope',
      label: this.#label('rope'),
      x: x.id,
      table: table.id,
      heads: options.heads,
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
    op: 'add' | 'scale' | 'geglu' | 'softcap',
    a: Value<R, A>,
    b: Value<R, A> | null,
    scale: number,
  ): Value<R, A> {
    if (b) {
      this.#expectWidth(op, 'second operand', b, a.width);
      this.#expectRows(op, 'second operand', b, a);
    }
    const y = this.#value<R, A>(a.rows, a.width);
    const label = this.#label(op);
    this.#push({ kind: 'elementwise', label, op, a: a.id, b: b?.id ?? null, scale, y: y.id });
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
