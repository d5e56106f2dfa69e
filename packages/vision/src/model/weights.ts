import { WeightMapError } from '@markbase/core';
import { type Checkpoint, onLoadQuantizer, type TensorView, weightBytes } from '@markbase/loader';
import { type Axis, type Device, WeightMapper } from '@markbase/metal-runtime';
import type { TowerConfig, UnifiedConfig, VisionConfig } from './config.js';
import type { Clip, ClippedLinear, EncoderLayer, Projector, Tower, UnifiedEmbedder } from './layer.js';

const TOWER = 'vision_tower';
const UNIFIED = 'vision_embedder';
const PROJECTOR = 'embed_vision';
const CLIP_BOUNDS = ['input_min', 'input_max', 'output_min', 'output_max'] as const;
const CHANNELS = 3;

/** How the weights of a tower are held. */
export interface LoadOptions {
  /** Bits that plain matrices are quantised to; null = they are mapped as they are. */
  readonly quantizeOnLoad: 4 | 8 | null;
  readonly signal?: AbortSignal;
}

/** Mapped or quantised weights on a device. */
export interface LoadedVision {
  readonly model: Tower | UnifiedEmbedder;
  dispose(): void;
}

/**
 * Maps the weights of the vision part. Only the bounds of clipped linears and quantised matrices are copied.
 *
 * @throws WeightMapError with every tensor that is missing, of a wrong shape, or that nothing uses
 * @throws OutOfMemoryError before anything is loaded, when the device copies weights and has too little memory
 */
export async function loadVision(
  checkpoint: Pick<Checkpoint, 'weights'>,
  device: Device,
  config: VisionConfig,
  options: LoadOptions,
): Promise<LoadedVision> {
  // The size of weights that are quantised on load is only known afterwards.
  if (options.quantizeOnLoad === null) {
    device.requireMemory(weightBytes(checkpoint.weights, rootsOf(config)), 'weights of the vision part');
  }
  const quantizer = onLoadQuantizer(options.quantizeOnLoad, options.signal);
  const mapper: Mapper = new WeightMapper(checkpoint.weights, device, quantizer);
  try {
    const model =
      config.kind === 'tower' ? await loadTower(mapper, config) : await loadUnified(mapper, config);
    mapper.finish();
    checkUnused(checkpoint, config);
    return { model, dispose: () => mapper.dispose() };
  } catch (error) {
    mapper.dispose();
    throw error;
  }
}

type Mapper = WeightMapper<TensorView>;

async function loadTower(mapper: Mapper, config: TowerConfig): Promise<Tower> {
  const { hiddenSize: width, patchSize, poolingKernelSize, positionEmbeddingSize } = config;
  const patchWidth = patchSize ** 2 * CHANNELS;
  const embedder = `${TOWER}.patch_embedder`;
  const layers: EncoderLayer[] = [];
  const inputProjection = await mapper.matrix<'U', 'M'>(`${embedder}.input_proj`, width, patchWidth);
  for (let index = 0; index < config.layerCount; index++) {
    layers.push(await loadLayer(mapper, config, `${TOWER}.encoder.layers.${index}`));
  }
  return {
    kind: 'tower',
    width,
    headWidth: config.headDim,
    patchWidth,
    pooledPatches: poolingKernelSize ** 2,
    inputProjection,
    positions: mapper.table<'U'>(`${embedder}.position_embedding_table`, [2, positionEmbeddingSize, width]),
    layers,
    standard: config.standardizes
      ? { bias: mapper.vector(`${TOWER}.std_bias`, width), scale: mapper.vector(`${TOWER}.std_scale`, width) }
      : null,
    projector: await loadProjector(mapper, config, width),
  };
}

async function loadLayer(mapper: Mapper, config: TowerConfig, path: string): Promise<EncoderLayer> {
  const { hiddenSize: width, intermediateSize, headCount, kvHeadCount, headDim, rmsNormEps } = config;
  const linear = <Out extends Axis, In extends Axis>(name: string, rows: number, columns: number) =>
    loadLinear<Out, In>(mapper, config, `${path}.${name}`, rows, columns);
  const norm = (name: string) => mapper.vector<'U'>(`${path}.${name}.weight`, width);
  const [queryWidth, keyWidth] = [headCount * headDim, kvHeadCount * headDim];
  return {
    normEps: rmsNormEps,
    headCount,
    kvHeadCount,
    inputNorm: norm('input_layernorm'),
    query: await linear('self_attn.q_proj', queryWidth, width),
    key: await linear('self_attn.k_proj', keyWidth, width),
    value: await linear('self_attn.v_proj', keyWidth, width),
    output: await linear('self_attn.o_proj', width, queryWidth),
    queryNorm: mapper.vector(`${path}.self_attn.q_norm.weight`, headDim),
    keyNorm: mapper.vector(`${path}.self_attn.k_norm.weight`, headDim),
    postAttentionNorm: norm('post_attention_layernorm'),
    preFeedForwardNorm: norm('pre_feedforward_layernorm'),
    gate: await linear('mlp.gate_proj', intermediateSize, width),
    up: await linear('mlp.up_proj', intermediateSize, width),
    down: await linear('mlp.down_proj', width, intermediateSize),
    postFeedForwardNorm: norm('post_feedforward_layernorm'),
  };
}

/** The `.linear.` infix is present whether the tower clips or not; the bounds are stored next to it (docs/gemma4.md section 7.2). */
async function loadLinear<Out extends Axis, In extends Axis>(
  mapper: Mapper,
  config: TowerConfig,
  module: string,
  rows: number,
  columns: number,
): Promise<ClippedLinear<Out, In>> {
  const weight = await mapper.matrix<Out, In>(`${module}.linear`, rows, columns);
  return { weight, clip: config.usesClippedLinears ? await loadClip(mapper, module) : null };
}

/** A linear whose bounds are all infinite does not clip. */
async function loadClip(mapper: Mapper, module: string): Promise<Clip | null> {
  const bounds: number[] = [];
  for (const name of CLIP_BOUNDS) {
    const { values } = await mapper.numbers(`${module}.${name}`, [], [1]);
    bounds.push(values[0]!);
  }
  if (!bounds.some(Number.isFinite)) return null;
  const [inputLow, inputHigh, outputLow, outputHigh] = bounds as [number, number, number, number];
  return { input: { low: inputLow, high: inputHigh }, output: { low: outputLow, high: outputHigh } };
}

async function loadUnified(mapper: Mapper, config: UnifiedConfig): Promise<UnifiedEmbedder> {
  const { embedSize: width, modelPatchSize, positionEmbeddingSize, outputSize } = config;
  const patchWidth = modelPatchSize ** 2 * CHANNELS;
  const norm = <A extends Axis>(name: string, length: number) => ({
    gain: mapper.vector<A>(`${UNIFIED}.${name}.weight`, length),
    bias: mapper.vector<A>(`${UNIFIED}.${name}.bias`, length),
  });
  return {
    kind: 'unified',
    width,
    patchWidth,
    patchNorm: norm('patch_ln1', patchWidth),
    dense: await mapper.matrix(`${UNIFIED}.patch_dense`, width, patchWidth),
    denseBias: mapper.vector(`${UNIFIED}.patch_dense.bias`, width),
    denseNorm: norm('patch_ln2', width),
    positions: mapper.table<'U'>(`${UNIFIED}.pos_embedding`, [positionEmbeddingSize, 2, width]),
    positionNorm: norm('pos_norm', width),
    projector: await loadProjector(mapper, config, outputSize),
  };
}

async function loadProjector(mapper: Mapper, config: VisionConfig, width: number): Promise<Projector> {
  const module = `${PROJECTOR}.embedding_projection`;
  return { normEps: config.rmsNormEps, projection: await mapper.matrix(module, config.outputWidth, width) };
}

/** Modules of the vision part. */
const rootsOf = (config: VisionConfig) => [config.kind === 'tower' ? TOWER : UNIFIED, PROJECTOR];

/** Tensors of the vision part that remain unused mean that config.json and the weights describe different models. */
function checkUnused({ weights }: Pick<Checkpoint, 'weights'>, config: VisionConfig): void {
  const unused = weights
    .unused()
    .filter((name) => rootsOf(config).some((root) => name.startsWith(`${root}.`)))
    // A tower that does not clip may contain infinite bounds.
    .filter((name) => !CLIP_BOUNDS.some((bound) => name.endsWith(`.${bound}`)));
  if (unused.length > 0) throw new WeightMapError({ unused });
}
