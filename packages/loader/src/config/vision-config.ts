import { UnsupportedModelError } from '@markbase/core';
import { MAX_LAYER_COUNT } from '../limits.js';
import type { ConfigReader } from './config-reader.js';

/** The vision encoder of E2B, E4B, 26B-A4B and 31B. */
export interface VisionTowerConfig {
  /** Width of the tower. */
  readonly hiddenSize: number;
  /** Width of its MLPs. */
  readonly intermediateSize: number;
  /** Number of layers. */
  readonly layerCount: number;
  /** Query heads of a layer. */
  readonly headCount: number;
  /** Key and value heads of a layer. */
  readonly kvHeadCount: number;
  /** Width of a head. */
  readonly headDim: number;
  /** Every linear clamps its input and output to the bounds stored next to it. */
  readonly usesClippedLinears: boolean;
  /** Soft tokens are standardised with `std_bias` and `std_scale`. */
  readonly standardizes: boolean;
  /** Edge of a patch in pixels. */
  readonly patchSize: number;
  /** Edge of the block of patches that becomes one soft token. */
  readonly poolingKernelSize: number;
  /** Rows of each axis of the position table. */
  readonly positionEmbeddingSize: number;
  /** Default budget of soft tokens for an image. */
  readonly defaultSoftTokens: number;
  /** Base of the rotary frequencies of both axes. */
  readonly ropeTheta: number;
  /** Added to the mean square in every norm. */
  readonly rmsNormEps: number;
}

/** The encoder-free vision embedder of 12B. */
export interface UnifiedVisionConfig {
  /** Edge of a small patch in pixels; `poolingKernelSize` squared of them make one model patch. */
  readonly patchSize: number;
  /** Small patches along an edge of a model patch. */
  readonly poolingKernelSize: number;
  /** Edge of a model patch in pixels: patchSize * poolingKernelSize. */
  readonly modelPatchSize: number;
  /** Width of the embedder. */
  readonly embedSize: number;
  /** Rows of the position table. */
  readonly positionEmbeddingSize: number;
  /** Default budget of soft tokens for an image. */
  readonly defaultSoftTokens: number;
  /** Input width of the projection to the text model. */
  readonly outputSize: number;
  /** Added to the mean square in every norm. */
  readonly rmsNormEps: number;
}

const DEFAULT_SOFT_TOKENS = 280;

/** Parses `vision_config` of a model with a vision tower. */
export function parseVisionTower(reader: ConfigReader): VisionTowerConfig {
  const activation = reader.string('hidden_activation', 'gelu_pytorch_tanh');
  if (activation !== 'gelu_pytorch_tanh' || reader.boolean('attention_bias', false)) {
    throw new UnsupportedModelError({
      modelType: reader.string('model_type', 'gemma4_vision'),
      reason: `hidden_activation "${activation}", attention_bias ${reader.boolean('attention_bias', false)}`,
    });
  }
  const hiddenSize = reader.integer('hidden_size');
  const headCount = reader.integer('num_attention_heads');
  const headDim = reader.integer('head_dim', { fallback: Math.floor(hiddenSize / headCount) });
  // Each half of a head is rotated by one axis of the picture, in pairs.
  if (headDim % 4 !== 0) reader.fail('head_dim', 'a multiple of 4');
  return {
    hiddenSize,
    intermediateSize: reader.integer('intermediate_size'),
    layerCount: reader.integer('num_hidden_layers', { max: MAX_LAYER_COUNT }),
    headCount,
    kvHeadCount: reader.integer('num_key_value_heads', { max: headCount, fallback: headCount }),
    headDim,
    usesClippedLinears: reader.boolean('use_clipped_linears', false),
    standardizes: reader.boolean('standardize', false),
    patchSize: reader.integer('patch_size', { fallback: 16 }),
    poolingKernelSize: reader.integer('pooling_kernel_size', { fallback: 3 }),
    positionEmbeddingSize: reader.integer('position_embedding_size', { fallback: 10_240 }),
    defaultSoftTokens: reader.integer('default_output_length', { fallback: DEFAULT_SOFT_TOKENS }),
    // rope_type reads "default" in older files and "axial" in newer ones: the same mathematics.
    ropeTheta: reader.object('rope_parameters')?.number('rope_theta', { min: 1, fallback: 100 }) ?? 100,
    rmsNormEps: reader.number('rms_norm_eps', { min: 0, max: 1, fallback: 1e-6 }),
  };
}

/** Parses `vision_config` of a unified model. */
export function parseUnifiedVision(reader: ConfigReader): UnifiedVisionConfig {
  const patchSize = reader.integer('patch_size', { fallback: 16 });
  const poolingKernelSize = reader.integer('pooling_kernel_size', { fallback: 3 });
  const modelPatchSize = patchSize * poolingKernelSize;
  if (reader.integer('model_patch_size', { fallback: modelPatchSize }) !== modelPatchSize) {
    reader.fail('model_patch_size', `patch_size * pooling_kernel_size = ${modelPatchSize}`);
  }
  const embedSize = reader.integer('mm_embed_dim');
  return {
    patchSize,
    poolingKernelSize,
    modelPatchSize,
    embedSize,
    positionEmbeddingSize: reader.integer('mm_posemb_size'),
    defaultSoftTokens: reader.integer('num_soft_tokens', { fallback: DEFAULT_SOFT_TOKENS }),
    outputSize: reader.integer('output_proj_dims', { fallback: embedSize }),
    rmsNormEps: reader.number('rms_norm_eps', { min: 0, max: 1, fallback: 1e-6 }),
  };
}
