import type { FeedForward, KvCache, Matrix, Vector } from '@markbase/metal-runtime';

/** Weights and caches of one decoder layer, as the maths needs them. */
export interface Layer {
  readonly index: number;
  readonly normEps: number;
  /** [D] */
  readonly inputNorm: Vector<'D'>;
  readonly attention: AttentionWeights;
  readonly postAttentionNorm: Vector<'D'>;
  readonly feedForward: FeedForward;
  readonly postFeedForwardNorm: Vector<'D'>;
  /** null = the model has no per-layer embeddings. */
  readonly perLayer: PerLayerWeights | null;
  /** Multiplies the whole stream after the layer. */
  readonly scalar: number;
}

/** Attention of one layer. */
export interface AttentionWeights {
  readonly normEps: number;
  /** H */
  readonly headCount: number;
  readonly query: Matrix<'HK', 'D'>;
  readonly queryNorm: Vector<'K'>;
  readonly output: Matrix<'D', 'HK'>;
  /** null = the layer reads the cache of an earlier one. */
  readonly keyValue: KeyValueWeights | null;
  /** The layer's own cache, or that of the layer it shares. */
  readonly cache: KvCache;
  /** Which of the decoder's rope frequencies turn this layer's heads. */
  readonly ropeIndex: number;
}

/** Keys and values that a layer adds to its own cache. */
export interface KeyValueWeights {
  readonly key: Matrix<'GK', 'D'>;
  readonly keyNorm: Vector<'K'>;
  /** null = the raw key projection is the value (k_eq_v). */
  readonly value: Matrix<'GK', 'D'> | null;
}

/** What a layer does with its slice of the per-layer embedding. */
export interface PerLayerWeights {
  readonly gate: Matrix<'P', 'D'>;
  readonly projection: Matrix<'D', 'P'>;
  readonly postNorm: Vector<'D'>;
}

/** Weights of a whole decoder. */
export interface Decoder {
  readonly normEps: number;
  /** E, also the head. */
  readonly embedding: Matrix<'V', 'D'>;
  /** sqrt(D), rounded to the type of the weights. */
  readonly embeddingScale: number;
  readonly perLayer: PerLayerTable | null;
  readonly layers: readonly Layer[];
  /** Index of the last layer that writes a cache. */
  readonly lastCachingLayer: number;
  /** Inverse frequencies [K/2] of every kind of layer. */
  readonly ropeFrequencies: readonly Vector<'K'>[];
  readonly finalNorm: Vector<'D'>;
  /** null = no soft cap. */
  readonly logitCap: number | null;
}

/** Where the per-layer embeddings of all layers come from. */
export interface PerLayerTable {
  /** P */
  readonly width: number;
  readonly embedding: Matrix<'V', 'LP'>;
  /** sqrt(P), rounded to the type of the weights. */
  readonly embeddingScale: number;
  readonly projection: Matrix<'LP', 'D'>;
  /** D^(-1/2) */
  readonly projectionScale: number;
  readonly projectionNorm: Vector<'P'>;
}
