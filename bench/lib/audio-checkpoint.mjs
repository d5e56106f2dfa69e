// A checkpoint with random weights whose audio tower has the shape of E2B's and E4B's; everything else is tiny.
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSafetensors } from '../../packages/loader/dist/index.js';
import { weightPool } from './weight-pool.mjs';

const MEL_BINS = 128;
const TAPS = 3;
const DEPTHWISE_TAPS = 5;

/** Writes config.json and model.safetensors (bfloat16) into `directory`: a tower of `layers` layers of width 1,024. */
export async function writeAudioCheckpoint(directory, { layers = 12, width = 1024, textWidth = 1536 } = {}) {
  const outputWidth = 1536;
  const channels = [128, 32];
  const random = weightPool();
  const tensors = [];
  const add = (name, shape, scale, offset = 0) => {
    const count = shape.reduce((product, length) => product * length, 1);
    tensors.push({ name, dtype: 'BF16', shape, chunks: () => [random(count, scale, offset)] });
  };
  const linear = (name, rows, columns) => add(`${name}.weight`, [rows, columns], 1 / Math.sqrt(columns));
  const gain = (name, length) => add(`${name}.weight`, [length], 0.1, 1);
  const clipped = (name, rows, columns) => {
    linear(`${name}.linear`, rows, columns);
    for (const side of ['input', 'output']) {
      add(`${name}.${side}_min`, [], 0, -20);
      add(`${name}.${side}_max`, [], 0, 20);
    }
  };
  const tower = 'model.audio_tower';
  const subsampling = `${tower}.subsample_conv_projection`;
  add(`${subsampling}.layer0.conv.weight`, [channels[0], 1, TAPS, TAPS], 0.3);
  gain(`${subsampling}.layer0.norm`, channels[0]);
  add(`${subsampling}.layer1.conv.weight`, [channels[1], channels[0], TAPS, TAPS], 0.03);
  gain(`${subsampling}.layer1.norm`, channels[1]);
  linear(`${subsampling}.input_proj_linear`, width, (MEL_BINS / 4) * channels[1]);
  for (let index = 0; index < layers; index++) {
    const path = `${tower}.layers.${index}`;
    for (const half of ['feed_forward1', 'feed_forward2']) {
      clipped(`${path}.${half}.ffw_layer_1`, 4 * width, width);
      clipped(`${path}.${half}.ffw_layer_2`, width, 4 * width);
      gain(`${path}.${half}.pre_layer_norm`, width);
      gain(`${path}.${half}.post_layer_norm`, width);
    }
    for (const name of ['q_proj', 'k_proj', 'v_proj', 'post'])
      clipped(`${path}.self_attn.${name}`, width, width);
    linear(`${path}.self_attn.relative_k_proj`, width, width);
    add(`${path}.self_attn.per_dim_scale`, [width / 8], 0.1);
    clipped(`${path}.lconv1d.linear_start`, 2 * width, width);
    clipped(`${path}.lconv1d.linear_end`, width, width);
    add(`${path}.lconv1d.depthwise_conv1d.weight`, [width, 1, DEPTHWISE_TAPS], 0.4);
    for (const norm of [
      'lconv1d.pre_layer_norm',
      'lconv1d.conv_norm',
      'norm_pre_attn',
      'norm_post_attn',
      'norm_out',
    ]) {
      gain(`${path}.${norm}`, width);
    }
  }
  linear(`${tower}.output_proj`, outputWidth, width);
  add(`${tower}.output_proj.bias`, [outputWidth], 0.1);
  linear('model.embed_audio.embedding_projection', textWidth, outputWidth);
  await mkdir(directory, { recursive: true });
  await writeFile(
    join(directory, 'config.json'),
    JSON.stringify(configOf(layers, width, textWidth, outputWidth)),
  );
  await writeSafetensors(join(directory, 'model.safetensors'), tensors);
}

/** The text part is never loaded, so its sizes only have to be a valid config. */
function configOf(layers, width, textWidth, outputWidth) {
  return {
    model_type: 'gemma4',
    audio_config: {
      model_type: 'gemma4_audio',
      hidden_size: width,
      num_hidden_layers: layers,
      num_attention_heads: 8,
      hidden_act: 'silu',
      output_proj_dims: outputWidth,
    },
    text_config: {
      model_type: 'gemma4_text',
      hidden_size: textWidth,
      num_hidden_layers: 5,
      num_attention_heads: 8,
      num_key_value_heads: 1,
      head_dim: 256,
      global_head_dim: 512,
      intermediate_size: 6144,
      vocab_size: 1024,
      vocab_size_per_layer_input: 1024,
      hidden_size_per_layer_input: 256,
      sliding_window: 512,
    },
  };
}
