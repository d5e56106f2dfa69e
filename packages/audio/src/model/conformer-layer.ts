import type { DepthwiseKernel, Ops, RelativeKeys, Value, Vector } from '@markbase/metal-runtime';
import { type ClippedLinear, clippedLinear } from './clipped-linear.js';

/** One conformer block: half a feed-forward, attention, convolution, the other half. */
export interface ConformerLayer {
  readonly constants: ConformerConstants;
  readonly feedForward1: HalfFeedForward;
  readonly attention: LocalAttention;
  readonly convolution: LightConvolution;
  readonly feedForward2: HalfFeedForward;
  readonly outputNorm: Vector<'D'>;
}

/** Numbers that all layers share. */
export interface ConformerConstants {
  readonly normEps: number;
  /** Bound of activations before norms. */
  readonly bound: number;
  /** H */
  readonly headCount: number;
  /** Keys that a query sees. */
  readonly reach: number;
  /** Cap of the scores. */
  readonly scoreCap: number;
  /** Multiplies the keys: ln(1 + e) / ln 2. */
  readonly keyScale: number;
}

/** A feed-forward branch [T, D] → [T, D] that is added with half its weight: the half is part of its last gain. */
export interface HalfFeedForward {
  readonly inputNorm: Vector<'D'>;
  readonly up: ClippedLinear<'F', 'D'>;
  readonly down: ClippedLinear<'D', 'F'>;
  readonly outputNorm: Vector<'D'>;
}

/** Attention over the last steps, with keys for relative positions. */
export interface LocalAttention {
  readonly inputNorm: Vector<'D'>;
  readonly query: ClippedLinear<'HK', 'D'>;
  readonly key: ClippedLinear<'HK', 'D'>;
  readonly value: ClippedLinear<'HK', 'D'>;
  /** [K] K^(-1/2) / ln 2 · softplus(per_dim_scale). */
  readonly queryScale: Vector<'K'>;
  readonly relativeKeys: RelativeKeys;
  readonly output: ClippedLinear<'D', 'HK'>;
  readonly outputNorm: Vector<'D'>;
}

/** A gated linear, a causal convolution of each channel, and a linear. */
export interface LightConvolution {
  readonly inputNorm: Vector<'D'>;
  /** Rows of the values, then rows of the gates: [2 D, D]. */
  readonly start: ClippedLinear<'F', 'D'>;
  readonly kernel: DepthwiseKernel<'D'>;
  readonly norm: Vector<'D'>;
  readonly end: ClippedLinear<'D', 'D'>;
}

/** One conformer block, [T, D] → [T, D] (docs/gemma4.md section 5.4). */
export function conformerLayer(ops: Ops, layer: ConformerLayer, x: Value<'T', 'D'>): Value<'T', 'D'> {
  const { constants } = layer;
  let h = halfFeedForward(ops, constants, layer.feedForward1, x);
  h = ops.add(
    h,
    ops.scope('attention', () => attend(ops, constants, layer.attention, h)),
  );
  h = ops.add(
    h,
    ops.scope('convolution', () => convolve(ops, constants, layer.convolution, h)),
  );
  h = halfFeedForward(ops, constants, layer.feedForward2, h);
  return boundedNorm(ops, constants, h, layer.outputNorm);
}

/** x + norm(down(silu(up(norm(x))))). */
function halfFeedForward(
  ops: Ops,
  constants: ConformerConstants,
  { inputNorm, up, down, outputNorm }: HalfFeedForward,
  x: Value<'T', 'D'>,
): Value<'T', 'D'> {
  return ops.scope('feed-forward', () => {
    const hidden = ops.silu(clippedLinear(ops, boundedNorm(ops, constants, x, inputNorm), up)); // [T, F]
    const branch = boundedNorm(ops, constants, clippedLinear(ops, hidden, down), outputNorm);
    return ops.add(x, branch);
  });
}

function attend(
  ops: Ops,
  constants: ConformerConstants,
  attention: LocalAttention,
  x: Value<'T', 'D'>,
): Value<'T', 'D'> {
  const normed = boundedNorm(ops, constants, x, attention.inputNorm);
  const { query, key, value, queryScale, relativeKeys } = attention;
  const attended = ops.localAttention(
    clippedLinear(ops, normed, query),
    clippedLinear(ops, normed, key),
    clippedLinear(ops, normed, value),
    {
      heads: constants.headCount,
      reach: constants.reach,
      cap: constants.scoreCap,
      keyScale: constants.keyScale,
      queryScale,
      relativeKeys,
    },
  );
  return boundedNorm(ops, constants, clippedLinear(ops, attended, attention.output), attention.outputNorm);
}

function convolve(
  ops: Ops,
  constants: ConformerConstants,
  { inputNorm, start, kernel, norm, end }: LightConvolution,
  x: Value<'T', 'D'>,
): Value<'T', 'D'> {
  const eps = constants.normEps;
  const started = clippedLinear(ops, ops.rmsNorm(x, inputNorm, { eps }), start); // [T, 2 D]
  const width = kernel.channels;
  const gated = ops.glu(
    ops.columns(started, { axis: 'D', begin: 0, width }),
    ops.columns(started, { axis: 'D', begin: width, width }),
  );
  const convolved = boundedNorm(ops, constants, ops.causalConv(gated, kernel), norm);
  return clippedLinear(ops, ops.silu(convolved), end);
}

function boundedNorm(
  ops: Ops,
  { normEps, bound }: ConformerConstants,
  x: Value<'T', 'D'>,
  gain: Vector<'D'>,
): Value<'T', 'D'> {
  return ops.rmsNorm(ops.clamp(x, { low: -bound, high: bound }), gain, { eps: normEps });
}
