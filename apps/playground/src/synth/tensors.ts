import type { LayerConfig, TensorSource, TextConfig } from '@markbase/loader';
import type { QuantizationEntry } from './config-json.js';
import type { RandomPool } from './random-pool.js';

/** How the matrices of a checkpoint are stored; null = plain bfloat16. */
export type Storage = { readonly bits: number; readonly groupSize: number } | null;

/** The tensors of a random checkpoint, and the modules that are stored differently. */
export interface SynthTensors {
  readonly tensors: readonly TensorSource[];
  /** Entries of `quantization` in config.json, by module path. */
  readonly overrides: Readonly<Record<string, QuantizationEntry>>;
}

/** Routing is sensitive: converters keep the router at 8 bits. */
const ROUTER_BITS = 8;

const GAIN = { mean: 1, deviation: 0.05 };

/**
 * Every tensor of a text-only checkpoint in MLX layout, with random weights that keep activations near 1.
 *
 * A matrix [out, in] has a standard deviation of 1/sqrt(in); norm gains and layer scalars are near 1; key norms are
 * near 1/sqrt(K), because Gemma 4 does not scale attention scores.
 */
export function synthTensors(config: TextConfig, storage: Storage, pool: RandomPool): SynthTensors {
  const writer = new TensorWriter(storage, pool);
  const root = 'language_model.model';
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
    writeLayer(writer, `${root}.layers.${index}`, layer, config);
  });
  return writer.result();
}

function writeLayer(writer: TensorWriter, path: string, layer: LayerConfig, config: TextConfig): void {
  const width = config.hiddenSize;
  for (const norm of NORMS) writer.gain(`${path}.${norm}.weight`, width);
  writer.gain(`${path}.layer_scalar`, 1);

  const queries = config.headCount * layer.headDim;
  writer.matrix(`${path}.self_attn.q_proj`, [queries, width]);
  writer.matrix(`${path}.self_attn.o_proj`, [width, queries]);
  writer.gain(`${path}.self_attn.q_norm.weight`, layer.headDim);
  if (layer.kvSource === null) {
    const keys = layer.kvHeadCount * layer.headDim;
    writer.matrix(`${path}.self_attn.k_proj`, [keys, width]);
    if (!layer.keyIsValue) writer.matrix(`${path}.self_attn.v_proj`, [keys, width]);
    writer.gain(`${path}.self_attn.k_norm.weight`, layer.headDim, layer.headDim ** -0.5);
  }

  writer.matrix(`${path}.mlp.gate_proj`, [layer.intermediateSize, width]);
  writer.matrix(`${path}.mlp.up_proj`, [layer.intermediateSize, width]);
  writer.matrix(`${path}.mlp.down_proj`, [width, layer.intermediateSize]);
  if (config.experts) writeExperts(writer, path, config.experts, width);
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
): void {
  const { count, intermediateSize } = experts;
  // The router's input is already scaled by 1/sqrt(D), so this keeps its logits near 1.
  writer.matrix(`${path}.router.proj`, [count, width], { deviation: 1, bits: ROUTER_BITS });
  writer.gain(`${path}.router.scale`, width);
  writer.gain(`${path}.router.per_expert_scale`, count);
  writer.matrix(`${path}.experts.switch_glu.gate_proj`, [count, intermediateSize, width]);
  writer.matrix(`${path}.experts.switch_glu.up_proj`, [count, intermediateSize, width]);
  writer.matrix(`${path}.experts.switch_glu.down_proj`, [count, width, intermediateSize]);
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

/** Collects tensors; their data is generated on demand. */
class TensorWriter {
  readonly #storage: Storage;
  readonly #pool: RandomPool;
  readonly #tensors: TensorSource[] = [];
  readonly #overrides: Record<string, QuantizationEntry> = {};

  constructor(storage: Storage, pool: RandomPool) {
    this.#storage = storage;
    this.#pool = pool;
  }

  /** A vector of values near `mean`. */
  gain(name: string, length: number, mean = GAIN.mean): void {
    this.#bf16(name, [length], { mean, deviation: mean * GAIN.deviation });
  }

  /** A matrix [.., out, in], quantised if the storage says so and the width allows it. */
  matrix(
    module: string,
    shape: readonly number[],
    options: { deviation?: number; bits?: number } = {},
  ): void {
    const columns = shape.at(-1) ?? 1;
    const deviation = options.deviation ?? columns ** -0.5;
    const groupSize = this.#storage && [this.#storage.groupSize, 64, 32].find((size) => columns % size === 0);
    if (!this.#storage || !groupSize) {
      this.#bf16(`${module}.weight`, shape, { mean: 0, deviation });
      return;
    }
    const bits = options.bits ?? this.#storage.bits;
    if (bits !== this.#storage.bits || groupSize !== this.#storage.groupSize) {
      this.#overrides[module] = { bits, group_size: groupSize };
    }
    this.#affine(module, shape, { bits, groupSize, deviation });
  }

  result(): SynthTensors {
    return { tensors: this.#tensors, overrides: this.#overrides };
  }

  #bf16(name: string, shape: readonly number[], spread: { mean: number; deviation: number }): void {
    const chunks = () => this.#pool.uniform(name, product(shape), spread);
    this.#tensors.push({ name, dtype: 'BF16', shape, chunks });
  }

  #affine(
    module: string,
    shape: readonly number[],
    options: { bits: number; groupSize: number; deviation: number },
  ): void {
    const pool = this.#pool;
    const { bits, groupSize } = options;
    const columns = shape.at(-1) ?? 1;
    const packed = [...shape.slice(0, -1), (columns * bits) / 32];
    const groups = [...shape.slice(0, -1), columns / groupSize];
    const groupCount = product(groups);
    this.#tensors.push(
      {
        name: `${module}.weight`,
        dtype: 'U32',
        shape: packed,
        chunks: () => pool.codes(module, 4 * product(packed)),
      },
      {
        name: `${module}.scales`,
        dtype: 'BF16',
        shape: groups,
        chunks: () => pool.scales(module, groupCount, options),
      },
      {
        name: `${module}.biases`,
        dtype: 'BF16',
        shape: groups,
        chunks: () => pool.biases(module, groupCount, options),
      },
    );
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((total, size) => total * size, 1);
}
