import type { WeightIndex } from '../checkpoint/weight-index.js';
import type { ModelConfig } from '../config/model-config.js';

/** A matrix or a vector that a decoder needs, by its canonical name. */
export type ExpectedTensor =
  | {
      readonly kind: 'matrix';
      /** Name of the module, without `.weight`. */
      readonly module: string;
      /** Out, the number of rows. */
      readonly rows: number;
      /** In, the number of columns before packing. */
      readonly columns: number;
      /** E, if the tensor holds one such matrix per expert. */
      readonly experts?: number;
    }
  | { readonly kind: 'vector'; readonly name: string; readonly length: number };

const ROOT = 'language_model';
const BLOCK_NORMS = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
];
const EXPERT_NORMS = [
  'post_feedforward_layernorm_1',
  'post_feedforward_layernorm_2',
  'pre_feedforward_layernorm_2',
];

/** Everything that the text decoder of a config needs. Fused or split experts: whichever the checkpoint has. */
export function expectedModules(
  config: ModelConfig,
  weights: Pick<WeightIndex, 'hasModule'>,
): ExpectedTensor[] {
  const { text } = config;
  const { hiddenSize: D, perLayerInputSize: P, layerCount: L } = text;
  const made: ExpectedTensor[] = [];
  const matrix = (module: string, rows: number, columns: number, experts?: number): void => {
    made.push({ kind: 'matrix', module, rows, columns, ...(experts !== undefined && { experts }) });
  };
  const vector = (name: string, length: number): void => {
    made.push({ kind: 'vector', name, length });
  };
  matrix(`${ROOT}.embed_tokens`, text.vocabSize, D);
  vector(`${ROOT}.norm.weight`, D);
  if (!text.tieWordEmbeddings) matrix('lm_head', text.vocabSize, D);
  if (P > 0) {
    matrix(`${ROOT}.embed_tokens_per_layer`, text.perLayerVocabSize, L * P);
    matrix(`${ROOT}.per_layer_model_projection`, L * P, D);
    vector(`${ROOT}.per_layer_projection_norm.weight`, P);
  }
  for (const [index, layer] of text.layers.entries()) {
    const at = `${ROOT}.layers.${index}`;
    const { headDim: K, kvHeadCount: G, intermediateSize: F } = layer;
    for (const norm of BLOCK_NORMS) vector(`${at}.${norm}.weight`, D);
    vector(`${at}.layer_scalar`, 1);
    matrix(`${at}.self_attn.q_proj`, text.headCount * K, D);
    matrix(`${at}.self_attn.o_proj`, D, text.headCount * K);
    vector(`${at}.self_attn.q_norm.weight`, K);
    // A drafter reads its target's keys and values.
    if (layer.kvSource === null && config.family !== 'gemma4_assistant') {
      matrix(`${at}.self_attn.k_proj`, G * K, D);
      if (!layer.keyIsValue) matrix(`${at}.self_attn.v_proj`, G * K, D);
      vector(`${at}.self_attn.k_norm.weight`, K);
    }
    for (const part of ['gate_proj', 'up_proj']) matrix(`${at}.mlp.${part}`, F, D);
    matrix(`${at}.mlp.down_proj`, D, F);
    if (P > 0) {
      matrix(`${at}.per_layer_input_gate`, P, D);
      matrix(`${at}.per_layer_projection`, D, P);
      vector(`${at}.post_per_layer_input_norm.weight`, D);
    }
    if (text.experts === null) continue;
    const { count: E, intermediateSize } = text.experts;
    matrix(`${at}.router.proj`, E, D);
    vector(`${at}.router.scale`, D);
    vector(`${at}.router.per_expert_scale`, E);
    for (const norm of EXPERT_NORMS) vector(`${at}.${norm}.weight`, D);
    const isFused = weights.hasModule(`${at}.experts.gate_up_proj`);
    const prefix = isFused ? `${at}.experts` : `${at}.experts.switch_glu`;
    if (isFused) matrix(`${prefix}.gate_up_proj`, 2 * intermediateSize, D, E);
    else for (const part of ['gate_proj', 'up_proj']) matrix(`${prefix}.${part}`, intermediateSize, D, E);
    matrix(`${prefix}.down_proj`, D, intermediateSize, E);
  }
  if (config.family === 'gemma4_assistant') {
    matrix('pre_projection', D, 2 * config.backboneHiddenSize);
    matrix('post_projection', config.backboneHiddenSize, D);
  }
  return made;
}
