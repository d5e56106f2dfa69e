import type { Routing } from '../../families/moe_route/node.js';
import type { Axis, RowAxis } from '../axes.js';
import type {
  ConvKernel,
  DepthwiseKernel,
  ExpertMatrix,
  KvCache,
  Matrix,
  RelativeKeys,
  Vector,
} from '../weights.js';
import type { Value } from './value.js';

/**
 * The vocabulary that model code records with. Every function checks its operands when it is called, appends to the
 * program and returns a symbolic value; nothing runs until `Program.run`. Models never fuse: the recorder does.
 */
export interface Ops {
  /** `[T, A]`: y_t = table[token_t] · scale. `ids` chooses the step's token ids or its per-layer token ids. */
  embed<A extends Axis>(
    table: Matrix<'V', A>,
    options: { scale: number; ids?: 'token' | 'layerToken' },
  ): Value<'T', A>;

  /**
   * Replaces the rows that the step marks (`softIndex`) by rows of `soft` [S, A], unscaled. `x` is the result of `embed`,
   * not yet used by anything else.
   */
  insertSoftTokens<A extends Axis>(x: Value<'T', A>, soft: Value<'S', A>): Value<'T', A>;

  /** A tensor [rows, A] that the caller passes with every step, by name. Rows 'S' are rows of their own, up to `maxRows`. */
  input<R extends RowAxis | 'S', A extends Axis>(
    name: string,
    rows: R,
    width: { axis: A; size: number; maxRows?: number },
  ): Value<R, A>;

  /** Makes a value readable after the step: `run(step, { read: [name] })`. */
  output(name: string, value: Value<RowAxis, Axis>): void;

  /**
   * y = x · (mean(x²) + eps)^(-1/2) · gain over the last axis, in float32. With `heads`, every row is `heads` vectors that
   * are normalised on their own. A null gain means none.
   */
  rmsNorm<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    gain: Vector<NoInfer<A>> | null,
    options: { eps: number },
  ): Value<R, A>;
  rmsNormHeads<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; heads: number },
  ): Value<R, A>;

  /** y = x + bias, in float32. */
  addBias<R extends RowAxis, A extends Axis>(x: Value<R, A>, bias: Vector<NoInfer<A>>): Value<R, A>;

  /** y = (x − bias) · scale, in float32: the difference of large numbers (spec 3.4). */
  standardise<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    bias: Vector<NoInfer<A>>,
    scale: Vector<NoInfer<A>>,
  ): Value<R, A>;

  /**
   * `[R, Out]`: y = x · Wᵀ. With `isExact` the activations stay float32 in a `fast` program too: for products that decide
   * something, such as which experts run.
   */
  linear<R extends RowAxis, Out extends Axis, In extends Axis>(
    x: Value<R, In>,
    weight: Matrix<Out, NoInfer<In>>,
    options?: { isExact: boolean },
  ): Value<R, Out>;

  /**
   * Chooses `topK` experts for every row: those of the largest logits, the lower number first where two are equal. The
   * share of a chosen expert e is softmax(scale · logits)_e, taken over the chosen ones, times perExpertScale_e. That is
   * the softmax over all experts, renormalised over the chosen ones. In float32; nothing is read back.
   */
  moeRoute<R extends RowAxis>(
    logits: Value<R, 'E'>,
    perExpertScale: Vector<'E'>,
    options: { topK: number; scale: number },
  ): Routing<R>;

  /**
   * `[R, X·Out]`: y_x = x_x · W_eᵀ for each chosen expert e of a row. `x` is [R, In], the same for all chosen experts, or
   * [R, X·In], a slice for each. A step reads the weights of every expert that some row chose once, and of no other.
   */
  moeLinear<R extends RowAxis, Out extends 'F' | 'D', In extends 'F' | 'D'>(
    x: Value<R, In | `X${In}`>,
    weight: ExpertMatrix<Out, In>,
    routing: Routing<NoInfer<R>>,
  ): Value<R, `X${Out}`>;

  /** `[R, D]`: y = Σ_x share_x · y_x over the chosen experts. */
  moeCombine<R extends RowAxis>(y: Value<R, 'XD'>, routing: Routing<NoInfer<R>>): Value<R, 'D'>;

  /** y = a + b. */
  add<R extends RowAxis, A extends Axis>(a: Value<R, A>, b: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = x · factor. */
  scale<R extends RowAxis, A extends Axis>(x: Value<R, A>, factor: number): Value<R, A>;

  /** y = gelu_tanh(gate) · up, with gelu_tanh(x) = 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). */
  geglu<R extends RowAxis, A extends Axis>(gate: Value<R, A>, up: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = x · sigmoid(x). */
  silu<R extends RowAxis, A extends Axis>(x: Value<R, A>): Value<R, A>;

  /** y = x · sigmoid(gate). */
  glu<R extends RowAxis, A extends Axis>(x: Value<R, A>, gate: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = cap · tanh(x / cap). */
  softcap<R extends RowAxis, A extends Axis>(x: Value<R, A>, cap: number): Value<R, A>;

  /** y = min(max(x, low), high); NaN stays NaN. */
  clamp<R extends RowAxis, A extends Axis>(x: Value<R, A>, range: { low: number; high: number }): Value<R, A>;

  /** Columns [begin, begin + width) of x, without a copy. */
  columns<R extends RowAxis, A extends Axis, To extends Axis>(
    x: Value<R, A>,
    range: { axis: To; begin: number; width: number },
  ): Value<R, To>;

  /**
   * `[R, K]`: cosines, then sines, of position · inverseFrequency_i for the pairs (i, i + K/2) of a head. Frequencies of 0
   * leave a pair as it is. One table serves every layer of a kind.
   */
  ropeTable<R extends RowAxis>(rows: R, inverseFrequencies: Vector<'K'>): Value<R, 'K'>;

  /**
   * Rotates the pairs (i, i + K/2) of every head. With `axes`, a head is as many equal parts, each rotated as if it were a
   * head by its own part of the table: one coordinate of a picture each (spec 3.3).
   */
  rope<R extends RowAxis, A extends 'HK' | 'GK'>(
    x: Value<R, A>,
    table: Value<NoInfer<R>, 'K'>,
    options: { heads: number; axes?: number },
  ): Value<R, A>;

  /** Appends k and v [R, GK] at each row's slot and position. Attention that is recorded later sees them. */
  appendKv<R extends RowAxis>(cache: KvCache, k: Value<R, 'GK'>, v: Value<NoInfer<R>, 'GK'>): void;

  /**
   * Copies keys and values at each row's position from slot `source` [R, 1] to the row's slot, so that sequences share a
   * beginning. A source that is no slot copies nothing.
   */
  copyKv<R extends RowAxis>(cache: KvCache, source: Value<R, 'X'>): void;

  /**
   * `[R, HK]`: softmax(q kᵀ) v per head, scale 1, over the positions that the row sees: the last `cache.windowTokens` up to
   * `visibleEnd` in a sliding layer, all up to itself in a full one. Query head h reads kv head h / (H/G).
   */
  attention<R extends RowAxis>(q: Value<R, 'HK'>, cache: KvCache, options: { heads: number }): Value<R, 'HK'>;

  /**
   * `[R, HK]`: softmax(q kᵀ) v per head, scale 1, over all rows of the row's segment: an image, a frame. The rows of a
   * segment are neighbours in the step; `positions` counts them from 0, `visibleEnd` is the number of the last one.
   * Query head h reads key and value head h / (H/G).
   */
  segmentAttention<R extends RowAxis>(
    q: Value<R, 'HK'>,
    k: Value<NoInfer<R>, 'GK'>,
    v: Value<NoInfer<R>, 'GK'>,
    options: { heads: number; kvHeads: number },
  ): Value<R, 'HK'>;

  /**
   * y = (x - mean(x)) · (variance(x) + eps)^(-1/2) · gain + bias for each of the `groups` vectors of a row, in float32;
   * a null gain or bias means none.
   */
  layerNorm<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; groups?: number; bias?: Vector<NoInfer<W>> | null },
  ): Value<R, A>;

  /**
   * `[T, C]`: a 3 × 3 convolution over time and frequency with stride 2 and one of padding. A row of x is `times` steps of
   * [frequencies, In channels], a row of the result times / 2 steps of [frequencies / 2 rounded up, Out channels]. The step
   * before the first of a row is the last of the row before, and none at position 0. `mask` [T, times · n] is 0 at steps
   * that count as zeros; step i is ruled by its column i · n.
   */
  conv2d<A extends Axis>(
    x: Value<'T', A>,
    kernel: ConvKernel,
    options: { times: number; mask: Value<'T', Axis> },
  ): Value<'T', 'C'>;

  /**
   * `[T, A]`: y_t = Σ_j kernel_j ⊙ x_{t - taps + 1 + j}, each channel by itself, over rows of the same slot; rows before
   * position 0 count as zeros.
   */
  causalConv<A extends Axis>(x: Value<'T', A>, kernel: DepthwiseKernel<NoInfer<A>>): Value<'T', A>;

  /**
   * `[T, HK]`: softmax_d(cap · tanh(s_d / cap)) v_{t-d} per head, over the distances d < `reach` that do not lie before
   * position 0, with s_d = (queryScale ⊙ q_t) · (keyScale · k_{t-d} + relativeKeys_d).
   */
  localAttention(
    q: Value<'T', 'HK'>,
    k: Value<'T', 'HK'>,
    v: Value<'T', 'HK'>,
    options: {
      heads: number;
      /** Keys that a query sees, itself included. */
      reach: number;
      cap: number;
      keyScale: number;
      /** Float32. */
      queryScale: Vector<'K'>;
      relativeKeys: RelativeKeys;
    },
  ): Value<'T', 'HK'>;

  /** `[N, A]`: the output rows of x; the rest is dropped. */
  gatherRows<A extends Axis>(x: Value<'T', A>): Value<'N', A>;

  /** `[N, A]`: y_n = scale · Σ x_t over the `count` rows from output row n on, in float32. */
  poolRows<A extends Axis>(x: Value<'T', A>, options: { count: number; scale: number }): Value<'N', A>;

  /** Chooses one token per output row by the step's sampling parameters. Ids in `suppressed` are never chosen. */
  sample(logits: Value<'N', 'V'>, options?: { suppressed?: readonly number[] }): void;

  /** Runs `body` with `name` in the labels of what it records: errors and `checkFinite` name it. */
  scope<Result>(name: string, body: () => Result): Result;
}
