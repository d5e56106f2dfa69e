import type { LayerConfig, TextConfig } from '@markbase/loader';
import type { TensorWriter } from './tensor-writer.js';

/** Names and completeness of a checkpoint: as MLX converts it, or as Google releases it for Hugging Face tools. */
export type Layout = 'mlx' | 'hf';

/** Routing is sensitive: converters keep the router at 8 bits. */
const ROUTER_BITS = 8;

/**
 * Every tensor of a text decoder, with random weights that keep activations near 1. In the released files, layers that share
 * keys and values nevertheless have them, and experts are fused.
 *
 * A matrix [out, in] has a standard deviation of 1/sqrt(in); norm gains and layer scalars are near 1; key norms are
 * near 1/sqrt(K), because Gemma 4 does not scale attention scores.
 */
export function writeDecoder(writer: TensorWriter, config: TextConfig, layout: Layout): void {
  const root = layout === 'hf' ? 'model.language_model' : 'language_model.model';
  const width = config.hiddenSize;
  writer.matrix(`${root}.embed_tokens`, [config.vocabSize, width]);
  writer.gain(`${root}.norm.weight`, width);
  if (config.perLayerInputSize > 0) {
    const perLayer = config.perLayerInputSize;
    const all = config.layerCount * perLayer;
    writer.matrix(`${root}.embed_tokens_per_layer`, [config.perLayerVocabSize, all], {
      deviation: perLayer ** -0.5,
    });
    writer.matrix(`${root}.per_layer_model_projection`, [all, width]);
    writer.gain(`${root}.per_layer_projection_norm.weight`, perLayer);
  }
  config.layers.forEach((layer, index) => {
    writeLayer(writer, `${root}.layers.${index}`, layer, config, layout);
  });
}

function writeLayer(
  writer: TensorWriter,
  path: string,
  layer: LayerConfig,
  config: TextConfig,
  layout: Layout,
): void {
  const width = config.hiddenSize;
  for (const norm of NORMS) writer.gain(`${path}.${norm}.weight`, width);
  writer.gain(`${path}.layer_scalar`, 1);

  const queries = config.headCount * layer.headDim;
  writer.matrix(`${path}.self_attn.q_proj`, [queries, width]);
  writer.matrix(`${path}.self_attn.o_proj`, [width, queries]);
  writer.gain(`${path}.self_attn.q_norm.weight`, layer.headDim);
  if (layer.kvSource === null || layout === 'hf') {
    const keys = layer.kvHeadCount * layer.headDim;
    writer.matrix(`${path}.self_attn.k_proj`, [keys, width]);
    if (!layer.keyIsValue) writer.matrix(`${path}.self_attn.v_proj`, [keys, width]);
    writer.gain(`${path}.self_attn.k_norm.weight`, layer.headDim, layer.headDim ** -0.5);
  }

  writer.matrix(`${path}.mlp.gate_proj`, [layer.intermediateSize, width]);
  writer.matrix(`${path}.mlp.up_proj`, [layer.intermediateSize, width]);
  writer.matrix(`${path}.mlp.down_proj`, [width, layer.intermediateSize]);
  if (config.experts) writeExperts(writer, path, config.experts, width, layout);
  if (config.perLayerInputSize > 0) {
    writer.matrix(`${path}.per_layer_input_gate`, [config.perLayerInputSize, width]);
    writer.matrix(`${path}.per_layer_projection`, [width, config.perLayerInputSize]);
    writer.gain(`${path}.post_per_layer_input_norm.weight`, width);
  }
}

function writeExperts(
  writer: TensorWriter,
  path: string,
  experts: NonNullable<TextConfig['experts']>,
  width: number,
  layout: Layout,
): void {
  const { count, intermediateSize } = experts;
  // The router's input is already scaled by 1/sqrt(D), so this keeps its logits near 1.
  writer.matrix(`${path}.router.proj`, [count, width], { deviation: 1, bits: ROUTER_BITS });
  writer.gain(`${path}.router.scale`, width);
  writer.gain(`${path}.router.per_expert_scale`, count);
  const spread = (columns: number) => ({ mean: 0, deviation: columns ** -0.5 });
  if (layout === 'hf') {
    writer.plain(`${path}.experts.gate_up_proj`, [count, 2 * intermediateSize, width], spread(width));
    writer.plain(`${path}.experts.down_proj`, [count, width, intermediateSize], spread(intermediateSize));
  } else {
    writer.matrix(`${path}.experts.switch_glu.gate_proj`, [count, intermediateSize, width]);
    writer.matrix(`${path}.experts.switch_glu.up_proj`, [count, intermediateSize, width]);
    writer.matrix(`${path}.experts.switch_glu.down_proj`, [count, width, intermediateSize]);
  }
  for (const norm of EXPERT_NORMS) writer.gain(`${path}.${norm}.weight`, width);
}

const NORMS = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
];
const EXPERT_NORMS = [
  'post_feedforward_layernorm_1',
  'pre_feedforward_layernorm_2',
  'post_feedforward_layernorm_2',
];
