import type { AudioTowerConfig, ModelConfig, UnifiedVisionConfig, VisionTowerConfig } from '@markbase/loader';
import type { TensorWriter } from './tensor-writer.js';

const MEL_BINS = 128;
/** Bounds that no activation of a random model reaches. */
const CLIP_BOUND = 64;
const SMALL = { mean: 0, deviation: 0.02 };

/** Every tensor of the towers of a config, under the names of the released files. */
export function writeTowers(writer: TensorWriter, config: ModelConfig): void {
  if (config.family === 'gemma4_assistant') return;
  const width = config.text.hiddenSize;
  const projection = (sense: string, columns: number) =>
    writer.matrix(`model.embed_${sense}.embedding_projection`, [width, columns]);
  if (config.family === 'gemma4_unified') {
    if (config.vision) {
      writeUnifiedVision(writer, config.vision);
      projection('vision', config.vision.outputSize);
    }
    if (config.audio) projection('audio', config.audio.embedSize);
    return;
  }
  if (config.vision) {
    writeVisionTower(writer, config.vision);
    projection('vision', config.vision.hiddenSize);
  }
  if (config.audio) {
    writeAudioTower(writer, config.audio);
    projection('audio', config.audio.outputSize);
  }
}

function writeVisionTower(writer: TensorWriter, config: VisionTowerConfig): void {
  const { hiddenSize: width, intermediateSize, headCount, kvHeadCount, headDim } = config;
  const root = 'model.vision_tower';
  writer.matrix(`${root}.patch_embedder.input_proj`, [width, 3 * config.patchSize ** 2]);
  const table = [2, config.positionEmbeddingSize, width];
  writer.plain(`${root}.patch_embedder.position_embedding_table`, table, SMALL);
  for (let index = 0; index < config.layerCount; index += 1) {
    const path = `${root}.encoder.layers.${index}`;
    const linear = (name: string, shape: [number, number]) =>
      writeLinear(writer, `${path}.${name}`, shape, config.usesClippedLinears);
    for (const norm of VISION_NORMS) writer.gain(`${path}.${norm}.weight`, width);
    linear('self_attn.q_proj', [headCount * headDim, width]);
    linear('self_attn.k_proj', [kvHeadCount * headDim, width]);
    linear('self_attn.v_proj', [kvHeadCount * headDim, width]);
    linear('self_attn.o_proj', [width, headCount * headDim]);
    writer.gain(`${path}.self_attn.q_norm.weight`, headDim);
    writer.gain(`${path}.self_attn.k_norm.weight`, headDim, headDim ** -0.5);
    linear('mlp.gate_proj', [intermediateSize, width]);
    linear('mlp.up_proj', [intermediateSize, width]);
    linear('mlp.down_proj', [width, intermediateSize]);
  }
  if (!config.standardizes) return;
  writer.plain(`${root}.std_bias`, [width], SMALL);
  writer.gain(`${root}.std_scale`, width);
}

function writeAudioTower(writer: TensorWriter, config: AudioTowerConfig): void {
  const { hiddenSize: width, headDim, outputSize } = config;
  const [first, second] = config.subsamplingChannels;
  const root = 'model.audio_tower';
  const convolution = `${root}.subsample_conv_projection`;
  writer.plain(`${convolution}.layer0.conv.weight`, [first, 1, 3, 3], { mean: 0, deviation: 1 / 3 });
  writer.plain(`${convolution}.layer1.conv.weight`, [second, first, 3, 3], SMALL);
  writer.gain(`${convolution}.layer0.norm.weight`, first);
  writer.gain(`${convolution}.layer1.norm.weight`, second);
  writer.matrix(`${convolution}.input_proj_linear`, [width, (MEL_BINS / 4) * second]);
  writer.matrix(`${root}.output_proj`, [outputSize, width]);
  writer.plain(`${root}.output_proj.bias`, [outputSize], SMALL);
  for (let index = 0; index < config.layerCount; index += 1) {
    const path = `${root}.layers.${index}`;
    const linear = (name: string, shape: [number, number]) =>
      writeLinear(writer, `${path}.${name}`, shape, config.usesClippedLinears);
    for (const branch of ['feed_forward1', 'feed_forward2']) {
      linear(`${branch}.ffw_layer_1`, [4 * width, width]);
      linear(`${branch}.ffw_layer_2`, [width, 4 * width]);
      writer.gain(`${path}.${branch}.pre_layer_norm.weight`, width);
      writer.gain(`${path}.${branch}.post_layer_norm.weight`, width);
    }
    for (const name of ['q_proj', 'k_proj', 'v_proj', 'post']) linear(`self_attn.${name}`, [width, width]);
    writer.matrix(`${path}.self_attn.relative_k_proj`, [width, width]);
    writer.plain(`${path}.self_attn.per_dim_scale`, [headDim], SMALL);
    linear('lconv1d.linear_start', [2 * width, width]);
    linear('lconv1d.linear_end', [width, width]);
    writer.plain(`${path}.lconv1d.depthwise_conv1d.weight`, [width, 1, config.convKernelSize], SMALL);
    writer.gain(`${path}.lconv1d.pre_layer_norm.weight`, width);
    writer.gain(`${path}.lconv1d.conv_norm.weight`, width);
    for (const norm of AUDIO_NORMS) writer.gain(`${path}.${norm}.weight`, width);
  }
}

function writeUnifiedVision(writer: TensorWriter, config: UnifiedVisionConfig): void {
  const { embedSize: width, modelPatchSize, positionEmbeddingSize } = config;
  const root = 'model.vision_embedder';
  const patchWidth = 3 * modelPatchSize ** 2;
  writer.matrix(`${root}.patch_dense`, [width, patchWidth]);
  writer.plain(`${root}.patch_dense.bias`, [width], SMALL);
  writer.plain(`${root}.pos_embedding`, [positionEmbeddingSize, 2, width], SMALL);
  for (const [norm, length] of [
    ['patch_ln1', patchWidth],
    ['patch_ln2', width],
    ['pos_norm', width],
  ] as const) {
    writer.gain(`${root}.${norm}.weight`, length);
    writer.plain(`${root}.${norm}.bias`, [length], SMALL);
  }
}

/** A linear of a tower; its bounds are scalars next to it. */
function writeLinear(
  writer: TensorWriter,
  module: string,
  shape: [number, number],
  isClipped: boolean,
): void {
  writer.matrix(`${module}.linear`, shape);
  if (!isClipped) return;
  for (const side of ['input', 'output']) {
    writer.plain(`${module}.${side}_min`, [], { mean: -CLIP_BOUND, deviation: 0 });
    writer.plain(`${module}.${side}_max`, [], { mean: CLIP_BOUND, deviation: 0 });
  }
}

const VISION_NORMS = [
  'input_layernorm',
  'post_attention_layernorm',
  'pre_feedforward_layernorm',
  'post_feedforward_layernorm',
];
const AUDIO_NORMS = ['norm_pre_attn', 'norm_post_attn', 'norm_out'];
