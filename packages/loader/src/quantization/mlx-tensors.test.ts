import { describe, expect, it } from 'vitest';
import { E2B, MOE_26B } from '../../test/released-configs.js';
import { parseModelConfig } from '../config/model-config.js';
import { TensorView } from '../safetensors/tensor-view.js';
import { MemorySource } from '../sources/memory-source.js';
import { channelLast, toMlxTensors } from './mlx-tensors.js';

const audio_config = {
  hidden_size: 1024,
  num_hidden_layers: 12,
  num_attention_heads: 8,
  subsampling_conv_channels: [128, 32],
};
const E2B_CONFIG = parseModelConfig({ ...E2B, audio_config }, '/config.json');
const MOE_CONFIG = parseModelConfig(MOE_26B, '/config.json');

function view(name: string, ...shape: number[]): TensorView {
  const range = { path: '/file', offsetBytes: 0, sizeBytes: 2 * shape.reduce((a, b) => a * b, 1) };
  return new TensorView(name, 'BF16', shape, range, new MemorySource(new Uint8Array(0)));
}

function convert(name: string, shape: readonly number[], config = E2B_CONFIG) {
  return toMlxTensors(name, view(name, ...shape), config).map((mlx) =>
    mlx.kind === 'dropped' ? mlx.kind : [mlx.kind, mlx.kind === 'matrix' ? mlx.module : mlx.name, mlx.shape],
  );
}

describe('toMlxTensors', () => {
  it.each([
    'language_model.layers.15.self_attn.k_proj.weight',
    'language_model.layers.34.self_attn.v_proj.weight',
    'language_model.layers.20.self_attn.k_norm.weight',
    'language_model.rotary_emb.inv_freq',
    'lm_head.weight',
  ])('drops %s of E2B, which nothing reads', (name) => {
    expect(convert(name, [256])).toEqual(['dropped']);
  });

  it.each([
    'language_model.layers.14.self_attn.k_proj.weight',
    'language_model.layers.15.self_attn.q_proj.weight',
    'language_model.embed_tokens.weight',
  ])('keeps %s', (name) => {
    expect(convert(name, [256, 1536])).toEqual([['matrix', name.replace('.weight', ''), [256, 1536]]]);
  });

  it('copies tensors that are not matrices', () => {
    expect(convert('language_model.norm.weight', [1536])).toEqual([
      ['copy', 'language_model.norm.weight', [1536]],
    ]);
    const table = 'vision_tower.patch_embedder.position_embedding_table';
    expect(convert(table, [2, 128, 64])).toEqual([['copy', table, [2, 128, 64]]]);
  });

  it('moves the channels of convolutions, unless already moved', () => {
    const conv = (layer: number) => `audio_tower.subsample_conv_projection.layer${layer}.conv.weight`;
    expect(convert(conv(0), [128, 1, 3, 3])).toEqual([['conv2d', conv(0), [128, 3, 3, 1]]]);
    expect(convert(conv(0), [128, 3, 3, 1])).toEqual([['copy', conv(0), [128, 3, 3, 1]]]);
    expect(convert(conv(1), [32, 128, 3, 3])).toEqual([['conv2d', conv(1), [32, 3, 3, 128]]]);
    expect(convert(conv(1), [32, 3, 3, 128])).toEqual([['copy', conv(1), [32, 3, 3, 128]]]);
    const depthwise = 'audio_tower.layers.0.lconv1d.depthwise_conv1d.weight';
    for (const shape of [
      [1024, 1, 5],
      [1024, 5, 1],
    ]) {
      expect(convert(depthwise, shape)).toEqual([['copy', depthwise, [1024, 5, 1]]]);
    }
  });

  it('splits fused experts, and leaves split ones', () => {
    const at = 'language_model.layers.0.experts';
    expect(convert(`${at}.gate_up_proj`, [4, 6, 8], MOE_CONFIG)).toEqual([
      ['matrix', `${at}.switch_glu.gate_proj`, [4, 3, 8]],
      ['matrix', `${at}.switch_glu.up_proj`, [4, 3, 8]],
    ]);
    expect(convert(`${at}.down_proj`, [4, 8, 3], MOE_CONFIG)).toEqual([
      ['matrix', `${at}.switch_glu.down_proj`, [4, 8, 3]],
    ]);
    expect(convert(`${at}.switch_glu.up_proj.weight`, [4, 3, 8], MOE_CONFIG)).toEqual([
      ['matrix', `${at}.switch_glu.up_proj`, [4, 3, 8]],
    ]);
    for (const shape of [
      [4, 5, 8],
      [6, 8],
    ]) {
      expect(() => convert(`${at}.gate_up_proj`, shape, MOE_CONFIG)).toThrow(
        expect.objectContaining({ code: 'WEIGHT_MAP' }),
      );
    }
  });
});

describe('channelLast', () => {
  it('keeps the bytes of each element together', () => {
    // [1, 2, 1, 3] of two bytes: channel 0 is 10 11 12, channel 1 is 20 21 22.
    const bytes = Uint8Array.of(10, 0, 11, 0, 12, 0, 20, 1, 21, 1, 22, 1);
    expect([...channelLast(bytes, [1, 2, 1, 3])]).toEqual([10, 0, 20, 1, 11, 0, 21, 1, 12, 0, 22, 1]);
  });
});
