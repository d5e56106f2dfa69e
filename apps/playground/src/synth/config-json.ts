import type { TextShape } from './shape.js';
import { NO_TOWERS, type TowersJson } from './towers-json.js';

/** An entry of `quantization` in config.json: the default, or an override for one module. */
export interface QuantizationEntry {
  readonly bits: number;
  readonly group_size: number;
  /** Absent = affine. */
  readonly mode?: string;
}

/** The special tokens of the released vocabulary, with their keys in config.json. */
const RELEASED_TOKENS = {
  boi_token_id: 255999,
  image_token_id: 258880,
  eoi_token_id: 258882,
  boa_token_id: 256000,
  audio_token_id: 258881,
  eoa_token_index: 258883,
  video_token_id: 258884,
};

/** config.json of a checkpoint with this shape, without quantisation; text-only unless it has towers. */
export function configJson(shape: TextShape, towers: TowersJson = NO_TOWERS): Record<string, unknown> {
  return {
    architectures: [
      shape.modelType === 'gemma4'
        ? 'Gemma4ForConditionalGeneration'
        : 'Gemma4UnifiedForConditionalGeneration',
    ],
    model_type: shape.modelType,
    dtype: 'bfloat16',
    tie_word_embeddings: true,
    audio_config: towers.audio,
    vision_config: towers.vision,
    ...specialTokens(shape.vocabSize),
    text_config: {
      model_type: `${shape.modelType}_text`,
      attention_bias: false,
      attention_k_eq_v: shape.globalKvHeadCount !== null,
      bos_token_id: 2,
      eos_token_id: 1,
      pad_token_id: 0,
      enable_moe_block: shape.experts !== null,
      num_experts: shape.experts?.count ?? null,
      top_k_experts: shape.experts?.topK ?? null,
      moe_intermediate_size: shape.experts?.intermediateSize ?? null,
      final_logit_softcapping: 30,
      hidden_activation: 'gelu_pytorch_tanh',
      hidden_size: shape.hiddenSize,
      hidden_size_per_layer_input: shape.perLayerSize,
      vocab_size: shape.vocabSize,
      vocab_size_per_layer_input: shape.vocabSize,
      intermediate_size: shape.intermediateSize,
      use_double_wide_mlp: shape.isDoubleWide,
      num_hidden_layers: shape.layerCount,
      layer_types: layerTypes(shape),
      num_attention_heads: shape.headCount,
      num_key_value_heads: shape.kvHeadCount,
      num_global_key_value_heads: shape.globalKvHeadCount,
      num_kv_shared_layers: shape.sharedKvLayerCount,
      head_dim: shape.headWidth,
      global_head_dim: shape.globalHeadWidth,
      sliding_window: shape.windowTokens,
      max_position_embeddings: shape.maxPositions,
      rms_norm_eps: 1e-6,
      rope_parameters: {
        full_attention: { rope_type: 'proportional', rope_theta: 1_000_000, partial_rotary_factor: 0.25 },
        sliding_attention: { rope_type: 'default', rope_theta: 10_000 },
      },
      tie_word_embeddings: true,
      use_bidirectional_attention: shape.globalKvHeadCount === null ? null : 'vision',
    },
  };
}

/** generation_config.json with the defaults of the instruction-tuned releases. */
export function generationConfigJson(): Record<string, unknown> {
  return {
    bos_token_id: 2,
    eos_token_id: [1, 106],
    pad_token_id: 0,
    do_sample: true,
    temperature: 1,
    top_k: 64,
    top_p: 0.95,
  };
}

function layerTypes(shape: TextShape): string[] {
  return Array.from({ length: shape.layerCount }, (_, index) =>
    (index + 1) % shape.fullEvery === 0 || index === shape.layerCount - 1
      ? 'full_attention'
      : 'sliding_attention',
  );
}

/** A small vocabulary has its special tokens at the end, in the same order. */
function specialTokens(vocabSize: number): Record<string, number> {
  const keys = Object.entries(RELEASED_TOKENS);
  if (vocabSize > RELEASED_TOKENS.video_token_id) return RELEASED_TOKENS;
  return Object.fromEntries(keys.map(([key], index) => [key, vocabSize - keys.length + index]));
}
