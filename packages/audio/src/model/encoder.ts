import type { ConvKernel, Matrix, Ops, Value, Vector } from '@markbase/metal-runtime';
import { type ConformerLayer, conformerLayer } from './conformer-layer.js';

/** Mel frames that become one row of the tower: two convolutions of stride 2. */
export const FRAMES_PER_ROW = 4;
/** Frames that become one row after the first convolution. */
const FRAMES_PER_HALF_ROW = 2;

/** Input [T, M]: features. */
export const FEATURES_INPUT = 'features';
/** Input [T, frames]: 1 for valid frames, 0 for padding. */
export const MASK_INPUT = 'mask';
/** Output [T, U] of the tower. */
export const TOWER_OUTPUT = 'tower';
/** Output [T, D]: soft tokens. */
export const SOFT_TOKENS_OUTPUT = 'soft tokens';

/** Weights of an encoder, which turns features into soft tokens. */
export type Encoder = TowerEncoder | FrameEncoder;

/** RMSNorm without a gain, then a linear to the width of the text model. */
export interface Embedder {
  readonly normEps: number;
  readonly projection: Matrix<'D', 'U'>;
}

/** The conformer of E2B and E4B. */
export interface TowerEncoder {
  readonly kind: 'tower';
  /** Mel bins of a frame. */
  readonly melBins: number;
  readonly subsampling: Subsampling;
  readonly layers: readonly ConformerLayer[];
  readonly output: { readonly weight: Matrix<'U', 'D'>; readonly bias: Vector<'U'> };
  readonly embedder: Embedder;
}

/** Two convolutions over time and frequency, each with a norm over channels and a ReLU, and a linear. */
export interface Subsampling {
  readonly normEps: number;
  readonly blocks: readonly [SubsamplingBlock, SubsamplingBlock];
  readonly projection: Matrix<'D', 'C'>;
}

/** A convolution and the gain of the norm over its channels. */
export interface SubsamplingBlock {
  readonly kernel: ConvKernel;
  readonly norm: Vector<'C'>;
}

/** The embedder of 12B: rows of samples are features already. */
export interface FrameEncoder {
  readonly kind: 'frames';
  readonly samplesPerToken: number;
  readonly embedder: Embedder;
}

/** Records an encoder: features in, soft tokens out. */
export function recordEncoder(ops: Ops, encoder: Encoder): void {
  if (encoder.kind === 'frames') {
    const frames = ops.input(FEATURES_INPUT, 'T', { axis: 'U', size: encoder.samplesPerToken });
    ops.output(SOFT_TOKENS_OUTPUT, embed(ops, encoder.embedder, frames));
    return;
  }
  const tower = runTower(ops, encoder);
  ops.output(TOWER_OUTPUT, tower);
  ops.output(SOFT_TOKENS_OUTPUT, embed(ops, encoder.embedder, tower));
}

/** Features and mask → `[T, U]` (docs/gemma4.md sections 5.3 to 5.6). */
function runTower(ops: Ops, encoder: TowerEncoder): Value<'T', 'U'> {
  const features = ops.input(FEATURES_INPUT, 'T', { axis: 'M', size: FRAMES_PER_ROW * encoder.melBins });
  const mask = ops.input(MASK_INPUT, 'T', { axis: 'M', size: FRAMES_PER_ROW });
  let h = ops.scope('subsampling', () => subsample(ops, encoder.subsampling, features, mask));
  for (const [index, layer] of encoder.layers.entries()) {
    h = ops.scope(`layer ${index}`, () => conformerLayer(ops, layer, h));
  }
  const { weight, bias } = encoder.output;
  return ops.scope('output', () => ops.addBias(ops.linear(h, weight), bias));
}

function subsample(
  ops: Ops,
  { blocks, normEps, projection }: Subsampling,
  features: Value<'T', 'M'>,
  mask: Value<'T', 'M'>,
): Value<'T', 'D'> {
  const [first, second] = blocks;
  const block = (
    x: Value<'T', 'M' | 'C'>,
    { kernel, norm }: SubsamplingBlock,
    times: number,
  ): Value<'T', 'C'> => {
    const convolved = ops.conv2d(x, kernel, { times, mask });
    const groups = convolved.width / kernel.outChannels;
    const normed = ops.layerNorm(convolved, norm, { eps: normEps, groups });
    return ops.clamp(normed, { low: 0, high: Number.POSITIVE_INFINITY });
  };
  const h = block(block(features, first, FRAMES_PER_ROW), second, FRAMES_PER_HALF_ROW);
  return ops.linear(h, projection);
}

/** The norm comes before the projection (docs/gemma4.md section 5.6). */
function embed(ops: Ops, { normEps, projection }: Embedder, x: Value<'T', 'U'>): Value<'T', 'D'> {
  return ops.scope('embedder', () => ops.linear(ops.rmsNorm(x, null, { eps: normEps }), projection));
}
