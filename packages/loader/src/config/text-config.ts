import { UnsupportedModelError } from '@markbase/core';
import { MAX_LAYER_COUNT } from '../limits.js';
import type { ConfigReader } from './config-reader.js';
import { type LayerConfig, parseLayers } from './layer-config.js';

/** The experts in parallel to the dense MLP of every layer (26B-A4B). */
export interface ExpertsConfig {
  /** E: experts per layer. */
  readonly count: number;
  /** Experts that run per token. */
  readonly topK: number;
  /** F of one expert. */
  readonly intermediateSize: number;
}

/** The text decoder, with every per-layer rule already applied in `layers`. */
export interface TextConfig {
  /** D. */
  readonly hiddenSize: number;
  /** L, the number of layers. */
  readonly layerCount: number;
  /** V. */
  readonly vocabSize: number;
  /** F of an ordinary layer; `layers[i].intermediateSize` is larger for double-wide layers. */
  readonly intermediateSize: number;
  /** H, the same in every layer. */
  readonly headCount: number;
  /** Longest context, in tokens, that the model was trained for. */
  readonly maxPositions: number;
  /** Added to the mean square in every norm. */
  readonly rmsNormEps: number;
  /** Keys that a sliding layer sees, the query's own included. */
  readonly slidingWindow: number;
  /** c in `c * tanh(logits / c)`; null = logits are used as they are. */
  readonly finalLogitSoftcap: number | null;
  /** P, width of the per-layer embedding; 0 = the model has none. */
  readonly perLayerInputSize: number;
  /** Rows of the per-layer embedding table; 0 without one. */
  readonly perLayerVocabSize: number;
  /** Sliding layers let the tokens of one image see each other. */
  readonly bidirectionalVision: boolean;
  /** null = dense. */
  readonly experts: ExpertsConfig | null;
  /** The layers in order, L of them. */
  readonly layers: readonly LayerConfig[];
  /** Id of the token that starts every prompt. */
  readonly bosTokenId: number;
  /** Ids that end an answer, as config.json says; `Checkpoint.generation.stopTokenIds` has all of them. */
  readonly eosTokenIds: readonly number[];
  /** Id of the padding token. */
  readonly padTokenId: number;
  /** The output head is the embedding matrix. */
  readonly tieWordEmbeddings: boolean;
}

/** Defaults of the format for keys that a config leaves out. */
const DEFAULTS = {
  softcap: 30,
  padTokenId: 0,
  eosTokenIds: [1],
  bosTokenId: 2,
  maxPositions: 131_072,
} as const;

/**
 * Parses the text part of a config.
 *
 * @param reader the `text_config` object, or the whole file of a text-only model
 * @param root the whole file: it holds some of the keys
 * @param isAssistant drafters have neither their own cache nor their own soft-cap
 * @throws InvalidConfigError, UnsupportedModelError
 */
export function parseTextConfig(reader: ConfigReader, root: ConfigReader, isAssistant: boolean): TextConfig {
  refuseUnsupported(reader);
  const layerCount = reader.integer('num_hidden_layers', { max: MAX_LAYER_COUNT });
  const vocabSize = reader.integer('vocab_size');
  const perLayerInputSize = reader.integer('hidden_size_per_layer_input', { min: 0, fallback: 0 });
  return {
    hiddenSize: reader.integer('hidden_size'),
    layerCount,
    vocabSize,
    intermediateSize: reader.integer('intermediate_size'),
    headCount: reader.integer('num_attention_heads'),
    maxPositions: reader.integer('max_position_embeddings', { fallback: DEFAULTS.maxPositions }),
    rmsNormEps: reader.number('rms_norm_eps', { min: 0, max: 1, fallback: 1e-6 }),
    slidingWindow: reader.integer('sliding_window'),
    finalLogitSoftcap: parseSoftcap(reader, isAssistant),
    perLayerInputSize,
    perLayerVocabSize:
      perLayerInputSize === 0 ? 0 : reader.integer('vocab_size_per_layer_input', { fallback: vocabSize }),
    bidirectionalVision: reader.raw('use_bidirectional_attention') === 'vision',
    experts: parseExperts(reader),
    layers: parseLayers(reader, layerCount, isAssistant),
    bosTokenId: reader.tokenId('bos_token_id') ?? root.tokenId('bos_token_id') ?? DEFAULTS.bosTokenId,
    // A list at the top is the newer and fuller one; the text part often repeats only the first id.
    eosTokenIds: root.tokenIds('eos_token_id') ?? reader.tokenIds('eos_token_id') ?? DEFAULTS.eosTokenIds,
    padTokenId: reader.tokenId('pad_token_id') ?? root.tokenId('pad_token_id') ?? DEFAULTS.padTokenId,
    tieWordEmbeddings: reader.boolean('tie_word_embeddings', root.boolean('tie_word_embeddings', true)),
  };
}

/** An explicit null switches the soft-cap off; if a converter dropped the key, the usual value applies. */
function parseSoftcap(reader: ConfigReader, isAssistant: boolean): number | null {
  const key = 'final_logit_softcapping';
  if (reader.raw(key) === null) return null;
  if (reader.raw(key) === undefined) return isAssistant ? null : DEFAULTS.softcap;
  return reader.number(key, { min: Number.MIN_VALUE });
}

function parseExperts(reader: ConfigReader): ExpertsConfig | null {
  if (!reader.boolean('enable_moe_block', false)) return null;
  const count = reader.integer('num_experts');
  return {
    count,
    topK: reader.integer('top_k_experts', { max: count }),
    intermediateSize: reader.integer(reader.spelling('moe_intermediate_size', 'expert_intermediate_size')),
  };
}

/** Options that the engine does not compute are refused here, not ignored. */
function refuseUnsupported(reader: ConfigReader): void {
  const refuse = (reason: string): never => {
    throw new UnsupportedModelError({ modelType: reader.string('model_type', 'gemma4_text'), reason });
  };
  const activation = reader.string('hidden_activation', 'gelu_pytorch_tanh');
  if (activation !== 'gelu_pytorch_tanh') refuse(`hidden_activation "${activation}"`);
  if (reader.boolean('attention_bias', false)) refuse('attention_bias true');
  if (reader.has('attn_logit_softcapping')) refuse('attn_logit_softcapping');
  const direction = reader.raw('use_bidirectional_attention') ?? null;
  if (direction !== null && direction !== false && direction !== 'vision') {
    refuse(`use_bidirectional_attention ${JSON.stringify(direction)}`);
  }
}
