import { UnsupportedModelError, WeightMapError } from '@markbase/core';
import {
  type Checkpoint,
  fromFloat32,
  hasSeparateHead,
  type LayerConfig,
  separateHeadError,
  type TensorView,
  toFloat32,
  weightBytes,
} from '@markbase/loader';
import {
  type Axis,
  type Device,
  type FeedForward,
  type FeedForwardFactory,
  type FloatType,
  type Matrix,
  WeightMapper,
} from '@markbase/metal-runtime';
import { loadAdapters } from './adapters.js';
import type { Caches } from './caches.js';
import type { DecoderConfig } from './config.js';
import { denseFeedForward } from './dense-feed-forward.js';
import type {
  AttentionWeights,
  Decoder,
  KeyValueWeights,
  Layer,
  PerLayerTable,
  PerLayerWeights,
} from './layer.js';
import type { RopeFrequencies } from './rope-frequencies.js';

const ROOT = 'language_model';
/** Rows of a head that should be the embedding which are compared with it; `validateCheckpoint` compares all. */
const HEAD_SAMPLE_ROWS = 64;

type Weights = WeightMapper<TensorView>;

/** Inputs of `loadDecoder`. */
export interface DecoderSources {
  readonly checkpoint: Checkpoint;
  readonly device: Device;
  readonly config: DecoderConfig;
  readonly caches: Pick<Caches, 'ofLayer'>;
  readonly rope: Pick<RopeFrequencies, 'vectors' | 'indexOf'>;
  readonly feedForward?: FeedForwardFactory<Checkpoint>;
  /** Folders of adapters by name. */
  readonly adapters?: Readonly<Record<string, string>>;
}

/** A decoder with its mapped weights. */
export interface LoadedDecoder {
  readonly decoder: Decoder;
  dispose(): void;
}

/**
 * Maps the weights of a decoder. Nothing is copied except one number per layer.
 *
 * @throws WeightMapError that lists all tensors that are missing, unused or have the wrong shape; keys and values of
 *   layers that share a cache are optional (docs/gemma4.md section 2.7)
 * @throws UnsupportedModelError if the model has experts and no `feedForward` was given
 * @throws InvalidConfigError if a head that differs from the embedding would be ignored
 * @throws OutOfMemoryError before anything is loaded, if the device copies weights and has too little memory
 */
export async function loadDecoder(sources: DecoderSources): Promise<LoadedDecoder> {
  const { checkpoint, device, config, rope } = sources;
  const modules = config.hasTiedHead ? [ROOT] : [ROOT, 'lm_head'];
  device.requireMemory(weightBytes(checkpoint.weights, modules), 'weights of the decoder');
  if (
    config.hasTiedHead &&
    (await hasSeparateHead(checkpoint.weights, checkpoint.config, HEAD_SAMPLE_ROWS))
  ) {
    throw separateHeadError(checkpoint.configPath);
  }
  const weights: Weights = new WeightMapper(checkpoint.weights, device);
  const eps = config.normEps;
  const { hiddenWidth, vocabularySize } = config;
  const blocks: FeedForward[] = [];
  const dispose = (): void => {
    for (const block of blocks) block.dispose?.();
    weights.dispose();
  };
  try {
    const embedding = weights.mapped<'V', 'D'>(`${ROOT}.embed_tokens`, vocabularySize, hiddenWidth);
    const layers = await loadLayers(sources, weights, blocks);
    const decoder: Omit<Decoder, 'adapters'> = {
      normEps: eps,
      embedding,
      head: config.hasTiedHead ? embedding : weights.mapped('lm_head', vocabularySize, hiddenWidth),
      embeddingScale: roundTo(Math.sqrt(hiddenWidth), floatTypeOf(embedding)),
      perLayer: loadPerLayerTable(config, weights),
      layers,
      lastCachingLayer: config.lastCachingLayer,
      ropeFrequencies: rope.vectors,
      finalNorm: weights.vector(`${ROOT}.norm.weight`, hiddenWidth),
      logitCap: config.logitCap,
    };
    weights.finish();
    const upload = (values: Float32Array, label: string) => weights.uploadFloats(values, label);
    const adapters = await loadAdapters(sources.adapters ?? {}, checkpoint, weights.matrices, upload);
    checkUnused(checkpoint, config);
    return { decoder: { ...decoder, adapters }, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

/** Loads all layers; blocks built by a factory are added to `blocks` at once, so that none is leaked if one fails. */
async function loadLayers(
  sources: DecoderSources,
  weights: Weights,
  blocks: FeedForward[],
): Promise<Layer[]> {
  const scalars = sources.config.layers.map((_, index) =>
    weights.numbers(`${layerPath(index)}.layer_scalar`, [1]),
  );
  const layers: Layer[] = [];
  for (const [index, { values }] of (await Promise.all(scalars)).entries()) {
    layers.push(await loadLayer(sources, weights, index, values[0]!, blocks));
  }
  return layers;
}

async function loadLayer(
  sources: DecoderSources,
  weights: Weights,
  index: number,
  scalar: number,
  blocks: FeedForward[],
): Promise<Layer> {
  const { checkpoint, device, config } = sources;
  const shape = config.layers[index]!;
  const path = layerPath(index);
  const width = config.hiddenWidth;
  const norm = (name: string) => weights.vector<'D'>(`${path}.${name}.weight`, width);
  const dense = denseFeedForward({
    normEps: config.normEps,
    norm: norm('pre_feedforward_layernorm'),
    gate: weights.mapped(`${path}.mlp.gate_proj`, shape.intermediateSize, width),
    up: weights.mapped(`${path}.mlp.up_proj`, shape.intermediateSize, width),
    down: weights.mapped(`${path}.mlp.down_proj`, width, shape.intermediateSize),
  });
  const feedForward = config.hasExperts
    ? await requireFactory(sources)({ checkpoint, device, layerIndex: index, dense })
    : dense;
  blocks.push(feedForward);
  return {
    index,
    normEps: config.normEps,
    inputNorm: norm('input_layernorm'),
    attention: loadAttention(sources, weights, index),
    postAttentionNorm: norm('post_attention_layernorm'),
    feedForward,
    postFeedForwardNorm: norm('post_feedforward_layernorm'),
    perLayer: loadPerLayer(config, weights, path),
    scalar,
  };
}

function loadAttention(sources: DecoderSources, weights: Weights, index: number): AttentionWeights {
  const { config, caches, rope } = sources;
  const shape = config.layers[index]!;
  const path = `${layerPath(index)}.self_attn`;
  const width = config.hiddenWidth;
  const queryWidth = config.headCount * shape.headDim;
  return {
    normEps: config.normEps,
    headCount: config.headCount,
    query: weights.mapped(`${path}.q_proj`, queryWidth, width),
    queryNorm: weights.vector(`${path}.q_norm.weight`, shape.headDim),
    output: weights.mapped(`${path}.o_proj`, width, queryWidth),
    keyValue: shape.kvSource === null ? loadKeyValue(weights, shape, path, width) : null,
    cache: caches.ofLayer(index),
    ropeIndex: rope.indexOf(index),
  };
}

function loadKeyValue(weights: Weights, shape: LayerConfig, path: string, width: number): KeyValueWeights {
  const rows = shape.kvHeadCount * shape.headDim;
  return {
    key: weights.mapped(`${path}.k_proj`, rows, width),
    keyNorm: weights.vector(`${path}.k_norm.weight`, shape.headDim),
    value: shape.keyIsValue ? null : weights.mapped(`${path}.v_proj`, rows, width),
  };
}

function loadPerLayer(config: DecoderConfig, weights: Weights, path: string): PerLayerWeights | null {
  if (!config.perLayer) return null;
  const { hiddenWidth } = config;
  const { width } = config.perLayer;
  return {
    gate: weights.mapped(`${path}.per_layer_input_gate`, width, hiddenWidth),
    projection: weights.mapped(`${path}.per_layer_projection`, hiddenWidth, width),
    postNorm: weights.vector(`${path}.post_per_layer_input_norm.weight`, hiddenWidth),
  };
}

function loadPerLayerTable(config: DecoderConfig, weights: Weights): PerLayerTable | null {
  if (!config.perLayer) return null;
  const { width, vocabularySize } = config.perLayer;
  const columns = config.layers.length * width;
  const embedding = weights.mapped<'V', 'LP'>(`${ROOT}.embed_tokens_per_layer`, vocabularySize, columns);
  return {
    width,
    embedding,
    embeddingScale: roundTo(Math.sqrt(width), floatTypeOf(embedding)),
    projection: weights.mapped(`${ROOT}.per_layer_model_projection`, columns, config.hiddenWidth),
    projectionScale: config.hiddenWidth ** -0.5,
    projectionNorm: weights.vector(`${ROOT}.per_layer_projection_norm.weight`, width),
  };
}

function requireFactory({ feedForward, config }: DecoderSources): FeedForwardFactory<Checkpoint> {
  if (feedForward) return feedForward;
  throw new UnsupportedModelError({
    modelType: config.modelType,
    reason:
      'it is a mixture of experts: install @markbase/moe and pass its block to TextModel.load as the option `feedForward`',
  });
}

/** Unused tensors of the decoder indicate that config.json and the weights describe different models. */
function checkUnused(checkpoint: Checkpoint, config: DecoderConfig): void {
  const dead = config.layers.flatMap((layer, index) =>
    layer.kvSource === null
      ? []
      : ['k_proj', 'v_proj', 'k_norm'].map((module) => `${layerPath(index)}.self_attn.${module}.`),
  );
  const unused = checkpoint.weights
    .unused()
    .filter((name) => name.startsWith(`${ROOT}.`) && !dead.some((prefix) => name.startsWith(prefix)));
  if (unused.length > 0) throw new WeightMapError({ unused });
}

function layerPath(index: number): string {
  return `${ROOT}.layers.${index}`;
}

/** `value` rounded to the nearest number of a stored type, as in the reference (docs/gemma4.md section 2.2). */
function roundTo(value: number, dtype: FloatType): number {
  return toFloat32(fromFloat32(Float32Array.of(value), dtype), dtype)[0]!;
}

/** The type in which a matrix is stored: that of the weights, or of the scales; small floats are recovered as bfloat16. */
function floatTypeOf(matrix: Matrix<Axis, Axis>): FloatType {
  if (matrix.kind === 'plain') return matrix.dtype;
  return matrix.kind === 'affine' ? matrix.scaleDtype : 'BF16';
}
