import { describe, expect, it } from 'vitest';
import { findFixture } from '../../../../fixtures/locate.js';
import type { LayerConfig } from '../config/layer-config.js';
import { type Checkpoint, openCheckpoint } from './open-checkpoint.js';

const SLIDING = { headDim: 32, rope: { theta: 10_000, rotaryPairs: 16 } };
const FULL = { headDim: 64, rope: { theta: 1_000_000, rotaryPairs: 8 } };
const WIDE_SLIDING = { headDim: 256, rope: { theta: 10_000, rotaryPairs: 128 } };
const WIDE_FULL = { headDim: 512, rope: { theta: 1_000_000, rotaryPairs: 64 } };

/** Expected values for each variant of the fixtures: kv heads of sliding and full layers, and their traits. */
const VARIANTS = {
  e2b: { kv: [1, 1], width: 192, layers: 10, shared: { first: 5, sliding: 3, full: 4, width: 384 } },
  e4b: { kv: [2, 2], width: 192, layers: 6, shared: null },
  '26b-a4b': { kv: [2, 1], width: 192, layers: 6, shared: null },
  '31b': { kv: [4, 1], width: 192, layers: 6, shared: null },
  '12b': { kv: [2, 1], width: 192, layers: 6, shared: null },
  'wide-e2b': { kv: [1, 1], width: 320, layers: 10, shared: { first: 5, sliding: 3, full: 4, width: 640 } },
  'wide-26b-a4b': { kv: [2, 1], width: 320, layers: 6, shared: null },
  'wide-31b': { kv: [4, 1], width: 320, layers: 6, shared: null },
  'e2b-assistant': { kv: [1, 1], width: 128, layers: 4, shared: null },
  '31b-assistant': { kv: [4, 1], width: 128, layers: 4, shared: null },
} as const;

const CASES = Object.entries(VARIANTS).flatMap(([variant, expected]) =>
  ['hf', 'mlx-4bit', 'mlx-8bit', 'mlx-mixed'].map((layout) => ({
    name: `${variant}-${layout}`,
    variant,
    expected,
  })),
);

describe.each(CASES.filter(({ name }) => findFixture(name) !== null))(
  '$name',
  ({ name, variant, expected }) => {
    const open = () => openCheckpoint(findFixture(name)!);

    it('has the layers of its variant', async () => {
      const { text } = (await open()).config;
      const isWide = variant.startsWith('wide-');
      const { kv, width, layers, shared } = expected;
      expect(text.layers).toHaveLength(layers);
      for (const [index, layer] of text.layers.entries()) {
        const isShared = shared !== null && index >= shared.first;
        const isFull = layer.kind === 'full';
        const sizes = isFull ? (isWide ? WIDE_FULL : FULL) : isWide ? WIDE_SLIDING : SLIDING;
        expect(layer).toEqual({
          ...sizes,
          kind:
            layers === 10
              ? (index + 1) % 5 === 0
                ? 'full'
                : 'sliding'
              : index === layers - 1
                ? 'full'
                : 'sliding',
          kvHeadCount: kv[isFull ? 1 : 0],
          intermediateSize: isShared ? shared.width : width,
          kvSource: isShared ? shared[layer.kind] : null,
          keyIsValue: isFull && /31b|26b|12b/.test(variant),
        } satisfies LayerConfig);
      }
    });

    it('has every tensor of the decoder in the size required by its config', async () => {
      const checkpoint = await open();
      askForDecoder(checkpoint);
      const rest = checkpoint.weights.unused();
      expect(rest.filter((unused) => unused.startsWith('language_model.'))).toEqual([]);
    });
  },
);

/** Requests everything that a decoder needs, like the text package. */
function askForDecoder({ config, weights }: Checkpoint): void {
  const { text, family } = config;
  const { hiddenSize: D, vocabSize, headCount } = text;
  const P = text.perLayerInputSize;
  const matrix = (module: string, rows: number, columns: number) =>
    weights.matrix(`language_model.${module}`, { rows, columns });
  const vector = (name: string, size: number) =>
    expect(weights.tensor(`language_model.${name}`).elementCount).toBe(size);
  matrix('embed_tokens', vocabSize, D);
  vector('norm.weight', D);
  if (P > 0) {
    matrix('embed_tokens_per_layer', text.perLayerVocabSize, text.layerCount * P);
    matrix('per_layer_model_projection', text.layerCount * P, D);
    vector('per_layer_projection_norm.weight', P);
  }
  for (const [index, layer] of text.layers.entries()) {
    const at = `layers.${index}`;
    const { headDim: K, kvHeadCount: G, intermediateSize: F } = layer;
    matrix(`${at}.self_attn.q_proj`, headCount * K, D);
    matrix(`${at}.self_attn.o_proj`, D, headCount * K);
    vector(`${at}.self_attn.q_norm.weight`, K);
    if (layer.kvSource === null && family !== 'gemma4_assistant') {
      matrix(`${at}.self_attn.k_proj`, G * K, D);
      if (!layer.keyIsValue) matrix(`${at}.self_attn.v_proj`, G * K, D);
      vector(`${at}.self_attn.k_norm.weight`, K);
    }
    for (const part of ['gate_proj', 'up_proj']) matrix(`${at}.mlp.${part}`, F, D);
    matrix(`${at}.mlp.down_proj`, D, F);
    vector(`${at}.layer_scalar`, 1);
    const norms = ['input', 'post_attention', 'pre_feedforward', 'post_feedforward'];
    for (const norm of norms) vector(`${at}.${norm}_layernorm.weight`, D);
    if (P > 0) {
      matrix(`${at}.per_layer_input_gate`, P, D);
      matrix(`${at}.per_layer_projection`, D, P);
      vector(`${at}.post_per_layer_input_norm.weight`, D);
    }
    if (text.experts !== null) askForExperts({ config, weights } as Checkpoint, at);
  }
}

function askForExperts({ config, weights }: Checkpoint, at: string): void {
  const { hiddenSize: D, experts } = config.text;
  const { count, intermediateSize: F } = experts!;
  const each = (module: string, rows: number, columns: number) =>
    weights.matrix(`language_model.${at}.experts.${module}`, { experts: count, rows, columns });
  if (weights.hasModule(`language_model.${at}.experts.gate_up_proj`)) {
    each('gate_up_proj', 2 * F, D);
    each('down_proj', D, F);
  } else {
    for (const part of ['gate_proj', 'up_proj']) each(`switch_glu.${part}`, F, D);
    each('switch_glu.down_proj', D, F);
  }
  weights.matrix(`language_model.${at}.router.proj`, { rows: count, columns: D });
  expect(weights.tensor(`language_model.${at}.router.scale`).elementCount).toBe(D);
  expect(weights.tensor(`language_model.${at}.router.per_expert_scale`).elementCount).toBe(count);
  for (const norm of [
    'post_feedforward_layernorm_1',
    'post_feedforward_layernorm_2',
    'pre_feedforward_layernorm_2',
  ]) {
    expect(weights.tensor(`language_model.${at}.${norm}.weight`).elementCount).toBe(D);
  }
}
