import type { FeedForward, KvCache, Matrix, Vector } from '@markbase/metal-runtime';
import type { DecoderAdapters } from './adapters.js';

/** Weights and caches of one decoder layer. */
export interface Layer {
  readonly index: number;
  readonly normEps: number;
  /** [D] */
  readonly inputNorm: Vector<'D'>;
  readonly attention: AttentionWeights;
  readonly postAttentionNorm: Vector<'D'>;
  readonly feedForward: FeedForward;
  readonly postFeedForwardNorm: Vector<'D'>;
  /** null if the model has no per-layer embeddings. */
  readonly perLayer: PerLayerWeights | null;
  /** Multiplies the whole residual stream after the layer. */
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
  /** null if the layer reads the cache of an earlier one. */
  readonly keyValue: KeyValueWeights | null;
  /** The layer's own cache, or that of the layer whose cache it shares. */
  readonly cache: KvCache;
  /** Index of this layer's rope frequencies in the decoder. */
  readonly ropeIndex: number;
}

/** Weights of the keys and values that a layer adds to its own cache. */
export interface KeyValueWeights {
  readonly key: Matrix<'GK', 'D'>;
  readonly keyNorm: Vector<'K'>;
  /** null if the raw key projection is also the value (k_eq_v). */
  readonly value: Matrix<'GK', 'D'> | null;
}

/** Weights that a layer applies to its slice of the per-layer embedding. */
export interface PerLayerWeights {
  readonly gate: Matrix<'P', 'D'>;
  readonly projection: Matrix<'D', 'P'>;
  readonly postNorm: Vector<'D'>;
}

/** Weights of a complete decoder. */
export interface Decoder {
  readonly normEps: number;
  /** E */
  readonly embedding: Matrix<'V', 'D'>;
  /** U, the output head: E itself unless the checkpoint has its own. */
  readonly head: Matrix<'V', 'D'>;
  /** sqrt(D), rounded to the type of the weights. */
  readonly embeddingScale: number;
  readonly perLayer: PerLayerTable | null;
  readonly layers: readonly Layer[];
  /** Index of the last layer that writes a cache. */
  readonly lastCachingLayer: number;
  /** Inverse frequencies [K/2] for each kind of layer. */
  readonly ropeFrequencies: readonly Vector<'K'>[];
  readonly finalNorm: Vector<'D'>;
  /** null = none, and programs without a trace of them. */
  readonly adapters: DecoderAdapters | null;
  /** null = no soft cap. */
  readonly logitCap: number | null;
}

/** Source of the per-layer embeddings of all layers. */
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
