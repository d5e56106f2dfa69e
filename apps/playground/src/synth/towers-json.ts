import type { TextShape } from './shape.js';

/** `vision_config` and `audio_config` of config.json; null = the model has no such tower. */
export interface TowersJson {
  readonly vision: Record<string, unknown> | null;
  readonly audio: Record<string, unknown> | null;
}

/** A text-only model. */
export const NO_TOWERS: TowersJson = { vision: null, audio: null };

/** The towers that were released with a decoder (docs/gemma4.md sections 1.2 to 1.4). */
export function towersJson(shape: TextShape): TowersJson {
  if (shape.modelType === 'gemma4_unified') return unifiedJson(shape);
  const isSmall = shape.perLayerSize > 0;
  return { vision: isSmall ? smallVision(shape) : largeVision(shape), audio: isSmall ? audio(shape) : null };
}

function smallVision(shape: TextShape): Record<string, unknown> {
  return { ...visionTower(shape, 16, 12, 64, 3072), use_clipped_linears: true, standardize: false };
}

function largeVision(shape: TextShape): Record<string, unknown> {
  return { ...visionTower(shape, 27, 16, 72, 4304), use_clipped_linears: false, standardize: true };
}

function visionTower(
  { towerScale }: TextShape,
  layers: number,
  heads: number,
  headWidth: number,
  intermediateSize: number,
): Record<string, unknown> {
  const headCount = Math.ceil(heads * towerScale);
  return {
    model_type: 'gemma4_vision',
    hidden_size: headCount * headWidth,
    intermediate_size: Math.ceil(intermediateSize * towerScale),
    num_hidden_layers: Math.ceil(layers * towerScale),
    num_attention_heads: headCount,
    num_key_value_heads: headCount,
    head_dim: headWidth,
    patch_size: 16,
    pooling_kernel_size: 3,
    position_embedding_size: Math.ceil(10_240 * towerScale),
    default_output_length: 280,
    hidden_activation: 'gelu_pytorch_tanh',
    rope_parameters: { rope_type: 'default', rope_theta: 100 },
    rms_norm_eps: 1e-6,
  };
}

function audio({ towerScale }: TextShape): Record<string, unknown> {
  const headCount = Math.ceil(8 * towerScale);
  return {
    model_type: 'gemma4_audio',
    hidden_size: 128 * headCount,
    num_hidden_layers: Math.ceil(12 * towerScale),
    num_attention_heads: headCount,
    hidden_act: 'silu',
    subsampling_conv_channels: [128, 32],
    conv_kernel_size: 5,
    residual_weight: 0.5,
    attention_chunk_size: 12,
    attention_context_left: 13,
    attention_context_right: 0,
    attention_logit_cap: 50,
    attention_invalid_logits_value: -1e9,
    use_clipped_linears: true,
    gradient_clipping: 1e10,
    output_proj_dims: Math.ceil(1536 * towerScale),
    rms_norm_eps: 1e-6,
  };
}

function unifiedJson({ hiddenSize }: TextShape): TowersJson {
  return {
    vision: {
      patch_size: 16,
      pooling_kernel_size: 3,
      model_patch_size: 48,
      mm_embed_dim: hiddenSize,
      mm_posemb_size: 1120,
      num_soft_tokens: 280,
      output_proj_dims: hiddenSize,
      rms_norm_eps: 1e-6,
    },
    audio: { audio_embed_dim: 640, audio_samples_per_token: 640, rms_norm_eps: 1e-6 },
  };
}
