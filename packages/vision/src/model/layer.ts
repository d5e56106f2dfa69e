import type { Axis, Matrix, Vector } from '@markbase/metal-runtime';

/** Bounds that a clipped linear keeps its input and its output within. */
export interface Clip {
  readonly input: { readonly low: number; readonly high: number };
  readonly output: { readonly low: number; readonly high: number };
}

/** A linear without bias, clipped in the small towers. */
export interface ClippedLinear<Out extends Axis, In extends Axis> {
  readonly weight: Matrix<Out, In>;
  readonly clip: Clip | null;
}

/** Weights of one encoder block; U is the width of the tower. */
export interface EncoderLayer {
  readonly normEps: number;
  readonly headCount: number;
  readonly kvHeadCount: number;
  readonly inputNorm: Vector<'U'>;
  readonly query: ClippedLinear<'HK', 'U'>;
  readonly key: ClippedLinear<'GK', 'U'>;
  readonly value: ClippedLinear<'GK', 'U'>;
  readonly output: ClippedLinear<'U', 'HK'>;
  readonly queryNorm: Vector<'K'>;
  readonly keyNorm: Vector<'K'>;
  readonly postAttentionNorm: Vector<'U'>;
  readonly preFeedForwardNorm: Vector<'U'>;
  readonly gate: ClippedLinear<'F', 'U'>;
  readonly up: ClippedLinear<'F', 'U'>;
  readonly down: ClippedLinear<'U', 'F'>;
  readonly postFeedForwardNorm: Vector<'U'>;
}

/** Into the text model: a norm without gain, then a projection (docs/gemma4.md section 3.4). */
export interface Projector {
  readonly normEps: number;
  readonly projection: Matrix<'D', 'U'>;
}

/** Weights of a tower. */
export interface Tower {
  readonly kind: 'tower';
  /** U */
  readonly width: number;
  /** K */
  readonly headWidth: number;
  /** Values of a patch. */
  readonly patchWidth: number;
  /** Patches that become one soft token. */
  readonly pooledPatches: number;
  readonly inputProjection: Matrix<'U', 'M'>;
  /** The tables of both coordinates, [2 · positions, U]: those of x, then those of y. */
  readonly positions: Matrix<'V', 'U'>;
  readonly layers: readonly EncoderLayer[];
  /** Bias and scale that the large towers apply after pooling. */
  readonly standard: { readonly bias: Vector<'U'>; readonly scale: Vector<'U'> } | null;
  readonly projector: Projector;
}

/** Gain and bias of a layer norm. */
export interface LayerNorm<A extends Axis> {
  readonly gain: Vector<A>;
  readonly bias: Vector<A>;
}

/** Weights of the encoder-free embedder of 12B. */
export interface UnifiedEmbedder {
  readonly kind: 'unified';
  /** U */
  readonly width: number;
  readonly patchWidth: number;
  readonly patchNorm: LayerNorm<'M'>;
  readonly dense: Matrix<'U', 'M'>;
  readonly denseBias: Vector<'U'>;
  readonly denseNorm: LayerNorm<'U'>;
  /** The tables of both coordinates, interleaved, [positions · 2, U]: x of 0, y of 0, x of 1 … */
  readonly positions: Matrix<'V', 'U'>;
  readonly positionNorm: LayerNorm<'U'>;
  readonly projector: Projector;
}
