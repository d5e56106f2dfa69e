import { describe, expect, it } from 'vitest';
import { ASSISTANT, DENSE_31B, E2B, E4B, MOE_26B, UNIFIED_12B } from '../../test/released-configs.js';
import type { LayerConfig } from './layer-config.js';
import { type ModelConfig, parseModelConfig } from './model-config.js';

const parse = (json: unknown): ModelConfig => parseModelConfig(json, '/config.json');

type TextChanges = Readonly<Record<string, unknown>>;

/** The layers of a model with changed keys in the text config; undefined removes a key. */
function layersOf(model: { text_config: object }, changes: TextChanges): readonly LayerConfig[] {
  return textOf(model, changes).layers;
}

function textOf(model: { text_config: object }, changes: TextChanges) {
  return parse({ ...model, text_config: { ...model.text_config, ...changes } }).text;
}

const indicesOf = (layers: readonly LayerConfig[], test: (layer: LayerConfig) => boolean): number[] =>
  layers.flatMap((layer, index) => (test(layer) ? [index] : []));

const isFull = (layer: LayerConfig): boolean => layer.kind === 'full';

describe('released models', () => {
  it.each([
    ['E2B', E2B, [4, 9, 14, 19, 24, 29, 34], 1, 1, 15],
    ['E4B', E4B, [5, 11, 17, 23, 29, 35, 41], 2, 2, 24],
    ['12B', UNIFIED_12B, [5, 11, 17, 23, 29, 35, 41, 47], 8, 1, 48],
    ['26B-A4B', MOE_26B, [5, 11, 17, 23, 29], 8, 2, 30],
    ['31B', DENSE_31B, [5, 11, 17, 23, 29, 35, 41, 47, 53, 59], 16, 4, 60],
  ])('%s has the right layers', (_, json, full, kvSliding, kvFull, owners) => {
    const { layers } = parse(json).text;
    expect(indicesOf(layers, isFull)).toEqual(full);
    for (const layer of layers) {
      expect(layer).toMatchObject(
        isFull(layer)
          ? { headDim: 512, kvHeadCount: kvFull, rope: { theta: 1_000_000, rotaryPairs: 64 } }
          : { headDim: 256, kvHeadCount: kvSliding, rope: { theta: 10_000, rotaryPairs: 128 } },
      );
      expect(layer.keyIsValue).toBe(isFull(layer) && json !== E2B && json !== E4B);
    }
    expect(indicesOf(layers, (layer) => layer.kvSource === null)).toEqual([...Array(owners).keys()]);
  });

  it.each([
    ['E2B', E2B, 13, 14],
    ['E4B', E4B, 22, 23],
  ])('%s shares the last keys and values of the same kind', (_, json, sliding, full) => {
    for (const layer of parse(json).text.layers.filter(({ kvSource }) => kvSource !== null)) {
      expect(layer.kvSource).toBe(isFull(layer) ? full : sliding);
    }
  });

  it('E2B is double-wide in layers with shared keys and values, E4B nowhere', () => {
    const widths = parse(E2B).text.layers.map(({ intermediateSize }) => intermediateSize);
    expect(widths).toEqual([...Array(15).fill(6144), ...Array(20).fill(12288)]);
    expect(new Set(parse(E4B).text.layers.map(({ intermediateSize }) => intermediateSize))).toEqual(
      new Set([10240]),
    );
  });

  it('E2B has a per-layer embedding, 26B-A4B experts, 31B neither', () => {
    expect(parse(E2B).text).toMatchObject({
      perLayerInputSize: 256,
      perLayerVocabSize: 262144,
      experts: null,
    });
    expect(parse(MOE_26B).text.experts).toEqual({ count: 128, topK: 8, intermediateSize: 704 });
    expect(parse(DENSE_31B).text).toMatchObject({
      perLayerInputSize: 0,
      perLayerVocabSize: 0,
      experts: null,
    });
  });

  it('12B has embedders instead of towers', () => {
    expect(parse(UNIFIED_12B)).toMatchObject({
      family: 'gemma4_unified',
      vision: { modelPatchSize: 48, embedSize: 3840, positionEmbeddingSize: 1120, defaultSoftTokens: 280 },
      audio: { embedSize: 640, samplesPerToken: 640 },
      tokens: { image: 258880, endAudio: 258883, video: null },
      text: { eosTokenIds: [1, 106], bidirectionalVision: true, slidingWindow: 1024 },
    });
  });

  it('a drafter owns no cache, no soft-cap, and perhaps a centroid head', () => {
    const config = parse(ASSISTANT);
    expect(config).toMatchObject({
      family: 'gemma4_assistant',
      backboneHiddenSize: 1536,
      orderedEmbeddings: { centroids: 2048, topK: 32 },
      text: { finalLogitSoftcap: null },
    });
    expect(config.text.layers.map(({ kind, kvSource }) => [kind, kvSource])).toEqual([
      ['sliding', null],
      ['sliding', null],
      ['sliding', null],
      ['full', null],
    ]);
    // The centroid keys stay in the file if the flag is off.
    expect(parse({ ...ASSISTANT, use_ordered_embeddings: false })).toMatchObject({ orderedEmbeddings: null });
  });
});

describe('spellings and missing keys', () => {
  it('per_layer_config replaces the global keys, also with leading zeros', () => {
    const layers = layersOf(DENSE_31B, {
      global_head_dim: undefined,
      num_global_key_value_heads: undefined,
      per_layer_config: Object.fromEntries(
        Array.from({ length: 10 }, (_, i) => [
          String(6 * i + 5).padStart(2, '0'),
          { head_dim: 512, num_key_value_heads: 4 },
        ]),
      ),
    });
    expect(layers).toEqual(parse(DENSE_31B).text.layers);
  });

  it('num_global_key_value_heads only applies with attention_k_eq_v', () => {
    const [sliding, full] = [0, 59].map((i) => layersOf(DENSE_31B, { attention_k_eq_v: false })[i]);
    expect([sliding!.kvHeadCount, full!.kvHeadCount]).toEqual([16, 16]);
    expect(full!.keyIsValue).toBe(false);
  });

  it('missing layer types follow the pattern of the model', () => {
    const missing = { layer_types: undefined };
    expect(layersOf(E2B, missing)).toEqual(parse(E2B).text.layers);
    expect(layersOf(E4B, missing)).toEqual(parse(E4B).text.layers);
    const patterned = layersOf(E4B, { ...missing, sliding_window_pattern: 4 });
    expect(indicesOf(patterned, isFull)).toEqual([3, 7, 11, 15, 19, 23, 27, 31, 35, 39, 41]);
  });

  it('the last layer is full, whatever the file says', () => {
    const types = Array(60).fill('sliding_attention');
    expect(indicesOf(layersOf(DENSE_31B, { layer_types: types }), isFull)).toEqual([59]);
  });

  it('missing rope parameters and head widths get defaults', () => {
    const missing = { rope_parameters: undefined, head_dim: undefined, global_head_dim: undefined };
    expect(layersOf(E2B, missing)).toEqual(parse(E2B).text.layers);
    const rope_parameters = { full_attention: { rope_type: 'proportional' } };
    expect(layersOf(E2B, { rope_parameters })[4]!.rope).toEqual({ theta: 1_000_000, rotaryPairs: 64 });
    expect(layersOf(E2B, { global_head_dim: null })[4]!.headDim).toBe(256);
  });

  it('a missing soft-cap means 30, null means none', () => {
    expect(textOf(E2B, { final_logit_softcapping: undefined }).finalLogitSoftcap).toBe(30);
    expect(textOf(E2B, { final_logit_softcapping: null }).finalLogitSoftcap).toBeNull();
  });

  it('the older name of the expert width is accepted', () => {
    const changes = { moe_intermediate_size: null, expert_intermediate_size: 704 };
    expect(textOf(MOE_26B, changes).experts).toEqual({ count: 128, topK: 8, intermediateSize: 704 });
  });

  it('a text-only file is the text config itself', () => {
    expect(parse(E2B.text_config)).toMatchObject({
      family: 'gemma4',
      modelType: 'gemma4_text',
      vision: null,
      audio: null,
      text: parse(E2B).text,
    });
    expect(parse(UNIFIED_12B.text_config)).toMatchObject({ family: 'gemma4_unified', vision: null });
  });

  it('eos is a number or a list; the top-level list is more complete', () => {
    expect(parse(E2B).text.eosTokenIds).toEqual([1]);
    expect(parse({ ...E2B, eos_token_id: [1, 106, 50] }).text.eosTokenIds).toEqual([1, 106, 50]);
    expect(
      textOf(E2B, { eos_token_id: undefined, pad_token_id: null, bos_token_id: undefined }),
    ).toMatchObject({
      eosTokenIds: [1],
      padTokenId: 0,
      bosTokenId: 2,
    });
  });
});

describe('towers', () => {
  const vision_config = {
    hidden_size: 1152,
    intermediate_size: 4304,
    num_hidden_layers: 27,
    num_attention_heads: 16,
    head_dim: 72,
    standardize: true,
    rope_parameters: { rope_type: 'default', rope_theta: 100 },
  };
  const audio_config = { hidden_size: 1024, num_hidden_layers: 12, num_attention_heads: 8 };

  it('fill in values that the format fixes', () => {
    expect(parse({ ...E2B, vision_config, audio_config })).toMatchObject({
      vision: {
        kvHeadCount: 16,
        headDim: 72,
        usesClippedLinears: false,
        standardizes: true,
        patchSize: 16,
        poolingKernelSize: 3,
        positionEmbeddingSize: 10240,
        defaultSoftTokens: 280,
        ropeTheta: 100,
      },
      audio: {
        headDim: 128,
        subsamplingChannels: [128, 32],
        convKernelSize: 5,
        residualWeight: 0.5,
        chunkSize: 12,
        contextLeft: 13,
        contextRight: 0,
        logitCap: 50,
        invalidLogitsValue: -1e9,
        usesClippedLinears: true,
        gradientClipping: 1e10,
        outputSize: 1536,
      },
    });
  });

  it.each([
    ['vision_config.head_dim', { vision_config: { ...vision_config, head_dim: 70 } }],
    ['vision_config.num_hidden_layers', { vision_config: { ...vision_config, num_hidden_layers: 1e9 } }],
    ['audio_config.num_attention_heads', { audio_config: { ...audio_config, num_attention_heads: 7 } }],
    [
      'audio_config.subsampling_conv_channels',
      { audio_config: { ...audio_config, subsampling_conv_channels: [1] } },
    ],
    ['vision_config', { vision_config: 7 }],
  ])('refuse a wrong %s', (key, changes) => {
    expect(() => parse({ ...E2B, ...changes })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', key }),
    );
  });

  it('refuse a unified patch that is not a square of patches', () => {
    const wrong = { ...UNIFIED_12B.vision_config, model_patch_size: 32 };
    expect(() => parse({ ...UNIFIED_12B, vision_config: wrong })).toThrow(
      expect.objectContaining({ key: 'vision_config.model_patch_size' }),
    );
  });
});

describe('unsupported configurations', () => {
  it.each([
    ['num_hidden_layers', -1],
    ['num_hidden_layers', 1e6],
    ['hidden_size', 1.5],
    ['hidden_size', '1536'],
    ['vocab_size', undefined],
    ['vocab_size', 2 ** 40],
    ['num_key_value_heads', 3],
    ['head_dim', 255],
    ['layer_types', ['full_attention']],
    ['layer_types', Array(35).fill('chunked_attention')],
    ['num_kv_shared_layers', 35],
    ['num_kv_shared_layers', 34],
    ['per_layer_config', { 35: {} }],
    ['per_layer_config', { '4': {}, '04': {} }],
    ['per_layer_config', { x: {} }],
    ['rms_norm_eps', Number.NaN],
    ['sliding_window', 0],
    ['final_logit_softcapping', 0],
    ['use_double_wide_mlp', 'yes'],
    ['eos_token_id', [1, -1]],
    ['pad_token_id', 0.5],
  ])('%s = %j', (key, value) => {
    expect(() => textOf(E2B, { [key]: value })).toThrow(
      expect.objectContaining({ code: 'INVALID_CONFIG', path: '/config.json', key: `text_config.${key}` }),
    );
  });

  it.each([
    ['attention_bias', true],
    ['hidden_activation', 'silu'],
    ['attn_logit_softcapping', 50],
    ['use_bidirectional_attention', 'all'],
    ['rope_parameters', { full_attention: { rope_type: 'yarn' } }],
    ['rope_parameters', { full_attention: { rope_type: 'default', partial_rotary_factor: 0.25 } }],
  ])('%s = %j, which the engine does not support', (key, value) => {
    expect(() => textOf(E2B, { [key]: value })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MODEL' }),
    );
  });

  it('other models, and invalid files', () => {
    expect(() => parse({ model_type: 'gemma3' })).toThrow(
      expect.objectContaining({ code: 'UNSUPPORTED_MODEL', modelType: 'gemma3' }),
    );
    for (const json of [null, [], 7, {}, { model_type: 7 }, { model_type: 'gemma4' }]) {
      expect(() => parse(json)).toThrow(expect.objectContaining({ code: 'INVALID_CONFIG' }));
    }
  });

  it('more chosen experts than exist', () => {
    expect(() => textOf(MOE_26B, { top_k_experts: 129 })).toThrow(
      expect.objectContaining({ key: 'text_config.top_k_experts' }),
    );
  });

  it('keys of the prototype are not keys', () => {
    const json = JSON.parse('{"model_type":"gemma4","__proto__":{"text_config":{}}}');
    expect(() => parse(json)).toThrow(expect.objectContaining({ key: 'text_config' }));
  });
});
