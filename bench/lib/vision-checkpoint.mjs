import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { writeSafetensors } from '../../packages/loader/dist/index.js';
import { weightPool } from './weight-pool.mjs';

/** Shapes of the released towers, docs/gemma4.md section 1.2. */
export const TOWERS = {
  e2b: { hidden: 768, inner: 3072, layers: 16, heads: 12, headDim: 64, clips: true, textWidth: 1536 },
  large: { hidden: 1152, inner: 4304, layers: 27, heads: 16, headDim: 72, clips: false, textWidth: 5376 },
};

const POSITIONS = 10_240;
const PATCH = 768;

/** Writes a checkpoint with only a vision tower, of random bfloat16 weights, into a folder. */
export async function writeVisionCheckpoint(folder, tower) {
  await writeFile(join(folder, 'config.json'), JSON.stringify(configOf(tower)));
  await writeSafetensors(join(folder, 'model.safetensors'), tensorsOf(tower));
}

function configOf({ hidden, inner, layers, heads, headDim, clips, textWidth }) {
  return {
    architectures: ['Gemma4ForConditionalGeneration'],
    model_type: 'gemma4',
    text_config: {
      model_type: 'gemma4_text',
      hidden_size: textWidth,
      intermediate_size: 64,
      num_hidden_layers: 2,
      num_attention_heads: 1,
      num_key_value_heads: 1,
      head_dim: 64,
      layer_types: ['sliding_attention', 'full_attention'],
      sliding_window: 64,
      vocab_size: 512,
    },
    vision_config: {
      model_type: 'gemma4_vision',
      hidden_size: hidden,
      intermediate_size: inner,
      num_hidden_layers: layers,
      num_attention_heads: heads,
      num_key_value_heads: heads,
      head_dim: headDim,
      use_clipped_linears: clips,
      standardize: !clips,
      position_embedding_size: POSITIONS,
    },
  };
}

function tensorsOf({ hidden, inner, layers, heads, headDim, clips, textWidth }) {
  const tensors = [];
  const random = weightPool();
  const add = (name, shape, size, centre = 0) => {
    const count = shape.reduce((product, length) => product * length, 1);
    tensors.push({ name, dtype: 'BF16', shape, chunks: () => [random(count, size, centre)] });
  };
  const root = 'model.vision_tower';
  add(`${root}.patch_embedder.input_proj.weight`, [hidden, PATCH], 1 / Math.sqrt(PATCH));
  add(`${root}.patch_embedder.position_embedding_table`, [2, POSITIONS, hidden], 0.02);
  for (let index = 0; index < layers; index++) {
    const at = `${root}.encoder.layers.${index}`;
    const linear = (name, rows, columns) => {
      add(`${at}.${name}.linear.weight`, [rows, columns], 1 / Math.sqrt(columns));
      if (!clips) return;
      for (const side of ['input', 'output']) {
        add(`${at}.${name}.${side}_min`, [], 0, -40);
        add(`${at}.${name}.${side}_max`, [], 0, 40);
      }
    };
    for (const part of ['q', 'k', 'v']) linear(`self_attn.${part}_proj`, heads * headDim, hidden);
    linear('self_attn.o_proj', hidden, heads * headDim);
    linear('mlp.gate_proj', inner, hidden);
    linear('mlp.up_proj', inner, hidden);
    linear('mlp.down_proj', hidden, inner);
    // Scores of a trained tower have magnitudes of a few units.
    for (const part of ['q', 'k']) add(`${at}.self_attn.${part}_norm.weight`, [headDim], 0.02, 0.4);
    for (const norm of ['input', 'post_attention', 'pre_feedforward', 'post_feedforward']) {
      add(`${at}.${norm}_layernorm.weight`, [hidden], 0.1, 1);
    }
  }
  if (!clips) {
    add(`${root}.std_bias`, [hidden], 1);
    add(`${root}.std_scale`, [hidden], 0.1, 1);
  }
  add('model.embed_vision.embedding_projection.weight', [textWidth, hidden], 1 / Math.sqrt(hidden));
  return tensors;
}
