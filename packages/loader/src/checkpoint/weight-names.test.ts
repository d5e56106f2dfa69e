import { describe, expect, it } from 'vitest';
import { canonicalName, isDeadWeight, mlxName } from './weight-names.js';

describe('canonicalName', () => {
  it.each([
    ['model.language_model.layers.0.mlp.up_proj.weight', 'language_model.layers.0.mlp.up_proj.weight'],
    ['language_model.model.layers.0.mlp.up_proj.weight', 'language_model.layers.0.mlp.up_proj.weight'],
    ['model.layers.0.layer_scalar', 'language_model.layers.0.layer_scalar'],
    ['language_model.norm.weight', 'language_model.norm.weight'],
    ['model.vision_tower.std_bias', 'vision_tower.std_bias'],
    ['vision_tower.std_bias', 'vision_tower.std_bias'],
    ['model.audio_tower.output_proj.bias', 'audio_tower.output_proj.bias'],
    ['model.vision_embedder.patch_ln1.bias', 'vision_embedder.patch_ln1.bias'],
    ['model.embed_vision.patch_ln1.bias', 'vision_embedder.patch_ln1.bias'],
    ['model.embed_vision.pos_embedding', 'vision_embedder.pos_embedding'],
    [
      'model.embed_vision.multimodal_embedder.embedding_projection.weight',
      'embed_vision.embedding_projection.weight',
    ],
    ['embed_audio.embedding_projection.weight', 'embed_audio.embedding_projection.weight'],
    ['lm_head.weight', 'lm_head.weight'],
    ['language_model.lm_head.weight', 'lm_head.weight'],
    ['pre_projection.weight', 'pre_projection.weight'],
    ['masked_embedding.token_ordering', 'masked_embedding.token_ordering'],
  ])('%s is %s', (name, canonical) => {
    expect(canonicalName(name)).toBe(canonical);
    expect(canonicalName(canonical)).toBe(canonical);
  });
});

describe('mlxName', () => {
  it.each(['language_model.layers.0.layer_scalar', 'vision_tower.std_bias', 'lm_head.weight'])(
    '%s is restored',
    (name) => {
      expect(canonicalName(mlxName(name, false))).toBe(name);
      expect(canonicalName(mlxName(name, true))).toBe(name);
    },
  );

  it('keeps a head outside the text part', () => {
    expect(mlxName('lm_head', false)).toBe('language_model.lm_head');
    expect(mlxName('lm_head.weight', true)).toBe('lm_head.weight');
  });

  it('puts the text part below language_model.model', () => {
    expect(mlxName('language_model.norm.weight', false)).toBe('language_model.model.norm.weight');
    expect(mlxName('language_model.norm.weight', true)).toBe('model.norm.weight');
  });
});

describe('isDeadWeight', () => {
  it('recognises computed tables and a tied head', () => {
    expect(isDeadWeight('language_model.rotary_emb.inv_freq', false)).toBe(true);
    expect(isDeadWeight('vision_tower.encoder.rotary_emb.inv_freq', true)).toBe(true);
    expect(isDeadWeight('lm_head.weight', true)).toBe(true);
    expect(isDeadWeight('lm_head.weight', false)).toBe(false);
    expect(isDeadWeight('language_model.norm.weight', true)).toBe(false);
  });
});
