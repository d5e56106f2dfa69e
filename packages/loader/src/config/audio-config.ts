import { UnsupportedModelError } from '@markbase/core';
import { MAX_CONFIG_SIZE, MAX_LAYER_COUNT } from '../limits.js';
import type { ConfigReader } from './config-reader.js';

/** The audio conformer of E2B and E4B. */
export interface AudioTowerConfig {
  /** Width of the conformer. */
  readonly hiddenSize: number;
  /** Number of conformer layers. */
  readonly layerCount: number;
  /** Attention heads of a layer. */
  readonly headCount: number;
  /** Width of a head. */
  readonly headDim: number;
  /** Channels after the first and after the second subsampling convolution. */
  readonly subsamplingChannels: readonly [number, number];
  /** Kernel size of the depthwise convolution, in time steps. */
  readonly convKernelSize: number;
  /** Weight of the feed-forward branches. */
  readonly residualWeight: number;
  /** Queries in one block of the chunked attention. */
  readonly chunkSize: number;
  /** Rows of the relative position table; the largest distance backwards is one less. */
  readonly contextLeft: number;
  /** Later steps that a step sees. */
  readonly contextRight: number;
  /** c in `c * tanh(scores / c)`. */
  readonly logitCap: number;
  /** What a masked score is set to. */
  readonly invalidLogitsValue: number;
  /** Every linear clamps its input and output to the bounds stored next to it. */
  readonly usesClippedLinears: boolean;
  /** Bound that activations are clamped to. */
  readonly gradientClipping: number;
  /** Input width of the projection to the text model. */
  readonly outputSize: number;
  /** Added to the mean square in every norm. */
  readonly rmsNormEps: number;
}

/** The encoder-free audio embedder of 12B. */
export interface UnifiedAudioConfig {
  /** Width of one soft token before the projection. */
  readonly embedSize: number;
  /** Samples at 16 kHz that become one soft token. */
  readonly samplesPerToken: number;
  /** Added to the mean square in the norm. */
  readonly rmsNormEps: number;
}

/** Parses `audio_config` of a model with an audio tower. */
export function parseAudioTower(reader: ConfigReader): AudioTowerConfig {
  const activation = reader.string('hidden_act', 'silu');
  if (activation !== 'silu') {
    throw new UnsupportedModelError({
      modelType: reader.string('model_type', 'gemma4_audio'),
      reason: `hidden_act "${activation}"`,
    });
  }
  const hiddenSize = reader.integer('hidden_size');
  const headCount = reader.integer('num_attention_heads');
  if (hiddenSize % headCount !== 0) {
    reader.fail('num_attention_heads', `a divisor of hidden_size ${hiddenSize}`);
  }
  return {
    hiddenSize,
    layerCount: reader.integer('num_hidden_layers', { max: MAX_LAYER_COUNT }),
    headCount,
    headDim: hiddenSize / headCount,
    subsamplingChannels: parseChannels(reader),
    convKernelSize: reader.integer('conv_kernel_size', { fallback: 5 }),
    residualWeight: reader.number('residual_weight', { fallback: 0.5 }),
    chunkSize: reader.integer('attention_chunk_size', { fallback: 12 }),
    contextLeft: reader.integer('attention_context_left', { fallback: 13 }),
    contextRight: reader.integer('attention_context_right', { min: 0, fallback: 0 }),
    logitCap: reader.number('attention_logit_cap', { min: Number.MIN_VALUE, fallback: 50 }),
    // Python writes a mask of minus infinity as such.
    invalidLogitsValue:
      reader.raw('attention_invalid_logits_value') === -Infinity
        ? -Infinity
        : reader.number('attention_invalid_logits_value', { fallback: -1e9 }),
    usesClippedLinears: reader.boolean('use_clipped_linears', true),
    gradientClipping: reader.number('gradient_clipping', { min: Number.MIN_VALUE, fallback: 1e10 }),
    outputSize: reader.integer('output_proj_dims', { fallback: 1536 }),
    rmsNormEps: reader.number('rms_norm_eps', { min: 0, max: 1, fallback: 1e-6 }),
  };
}

/** Parses `audio_config` of a unified model. */
export function parseUnifiedAudio(reader: ConfigReader): UnifiedAudioConfig {
  const embedSize = reader.integer('audio_embed_dim', { fallback: 640 });
  return {
    embedSize,
    samplesPerToken: reader.integer('audio_samples_per_token', { fallback: embedSize }),
    rmsNormEps: reader.number('rms_norm_eps', { min: 0, max: 1, fallback: 1e-6 }),
  };
}

function parseChannels(reader: ConfigReader): readonly [number, number] {
  const key = 'subsampling_conv_channels';
  const [first, second, ...rest] = reader.list(key, 2) ?? [128, 32];
  const isChannel = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_CONFIG_SIZE;
  if (!isChannel(first) || !isChannel(second) || rest.length > 0)
    return reader.fail(key, 'two channel counts');
  return [first, second];
}
