/** config.json of the released models, limited to the text decoder, in the spelling before transformers 5.17. */

const COMMON = {
  vocab_size: 262144,
  rms_norm_eps: 1e-6,
  attention_bias: false,
  hidden_activation: 'gelu_pytorch_tanh',
  final_logit_softcapping: 30,
  head_dim: 256,
  global_head_dim: 512,
  pad_token_id: 0,
  bos_token_id: 2,
  eos_token_id: 1,
  tie_word_embeddings: true,
  rope_parameters: {
    sliding_attention: { rope_type: 'default', rope_theta: 10000 },
    full_attention: { rope_type: 'proportional', rope_theta: 1000000, partial_rotary_factor: 0.25 },
  },
};

function layerTypes(count: number, period: number): string[] {
  return Array.from({ length: count }, (_, i) =>
    (i + 1) % period === 0 ? 'full_attention' : 'sliding_attention',
  );
}

const SMALL = {
  ...COMMON,
  model_type: 'gemma4_text',
  num_attention_heads: 8,
  num_global_key_value_heads: null,
  hidden_size_per_layer_input: 256,
  vocab_size_per_layer_input: 262144,
  sliding_window: 512,
  attention_k_eq_v: false,
  use_bidirectional_attention: null,
  enable_moe_block: false,
  max_position_embeddings: 131072,
};

const LARGE = {
  ...COMMON,
  model_type: 'gemma4_text',
  hidden_size_per_layer_input: 0,
  num_kv_shared_layers: 0,
  sliding_window: 1024,
  attention_k_eq_v: true,
  use_bidirectional_attention: 'vision',
  use_double_wide_mlp: false,
  enable_moe_block: false,
  max_position_embeddings: 262144,
};

export const E2B = {
  model_type: 'gemma4',
  text_config: {
    ...SMALL,
    hidden_size: 1536,
    num_hidden_layers: 35,
    layer_types: layerTypes(35, 5),
    num_key_value_heads: 1,
    intermediate_size: 6144,
    use_double_wide_mlp: true,
    num_kv_shared_layers: 20,
  },
};

export const E4B = {
  model_type: 'gemma4',
  text_config: {
    ...SMALL,
    hidden_size: 2560,
    num_hidden_layers: 42,
    layer_types: layerTypes(42, 6),
    num_key_value_heads: 2,
    intermediate_size: 10240,
    use_double_wide_mlp: false,
    num_kv_shared_layers: 18,
  },
};

export const UNIFIED_12B = {
  model_type: 'gemma4_unified',
  eos_token_id: [1, 106],
  image_token_id: 258880,
  eoa_token_index: 258883,
  text_config: {
    ...LARGE,
    model_type: 'gemma4_unified_text',
    hidden_size: 3840,
    num_hidden_layers: 48,
    layer_types: layerTypes(48, 6),
    num_attention_heads: 16,
    num_key_value_heads: 8,
    num_global_key_value_heads: 1,
    intermediate_size: 15360,
  },
  vision_config: {
    patch_size: 16,
    pooling_kernel_size: 3,
    model_patch_size: 48,
    mm_embed_dim: 3840,
    mm_posemb_size: 1120,
    num_soft_tokens: 280,
    output_proj_dims: 3840,
    rms_norm_eps: 1e-6,
  },
  audio_config: { audio_embed_dim: 640, audio_samples_per_token: 640, rms_norm_eps: 1e-6 },
};

export const MOE_26B = {
  model_type: 'gemma4',
  text_config: {
    ...LARGE,
    hidden_size: 2816,
    num_hidden_layers: 30,
    layer_types: layerTypes(30, 6),
    num_attention_heads: 16,
    num_key_value_heads: 8,
    num_global_key_value_heads: 2,
    intermediate_size: 2112,
    enable_moe_block: true,
    num_experts: 128,
    top_k_experts: 8,
    moe_intermediate_size: 704,
  },
};

export const DENSE_31B = {
  model_type: 'gemma4',
  text_config: {
    ...LARGE,
    hidden_size: 5376,
    num_hidden_layers: 60,
    layer_types: layerTypes(60, 6),
    num_attention_heads: 32,
    num_key_value_heads: 16,
    num_global_key_value_heads: 4,
    intermediate_size: 21504,
  },
};

/** A drafter of E2B. */
export const ASSISTANT = {
  model_type: 'gemma4_assistant',
  backbone_hidden_size: 1536,
  use_ordered_embeddings: true,
  num_centroids: 2048,
  centroid_intermediate_top_k: 32,
  text_config: {
    ...SMALL,
    final_logit_softcapping: undefined,
    hidden_size: 256,
    hidden_size_per_layer_input: 0,
    num_hidden_layers: 4,
    layer_types: layerTypes(4, 4),
    num_attention_heads: 4,
    num_key_value_heads: 1,
    intermediate_size: 2048,
    num_kv_shared_layers: 4,
  },
};
