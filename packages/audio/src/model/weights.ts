import { WeightMapError } from '@markbase/core';
import { type Checkpoint, onLoadQuantizer, type TensorView, weightBytes } from '@markbase/loader';
import { type Axis, type Device, type Matrix, WeightMapper } from '@markbase/metal-runtime';
import { MEL_BINS } from '../features/mel-spectrum.js';
import type { ClippedLinear } from './clipped-linear.js';
import type { EncoderConfig, FrameEncoderConfig, TowerEncoderConfig } from './config.js';
import type {
  ConformerConstants,
  ConformerLayer,
  HalfFeedForward,
  LightConvolution,
  LocalAttention,
} from './conformer-layer.js';
import { loadConvKernel, loadDepthwiseKernel } from './conv-kernels.js';
import type { Embedder, Encoder, Subsampling } from './encoder.js';
import { relativeKeys } from './relative-keys.js';

/** Options of `loadEncoder`. */
export interface LoadEncoderOptions {
  /** Bits that unquantised matrices are quantised to; null = as they are stored. */
  readonly quantizeOnLoad: 8 | 4 | null;
  readonly signal?: AbortSignal;
}

/** Weights on a device. */
export interface LoadedEncoder {
  readonly encoder: Encoder;
  dispose(): void;
}

const TOWER = 'audio_tower';
const EMBEDDER = 'embed_audio';
/** Modules of the audio part. */
const ROOTS = [TOWER, EMBEDDER];

type Mapper = WeightMapper<TensorView>;

/**
 * Maps the audio part of a checkpoint. Matrices stay in the file, or are quantised now; convolutions, scales and relative
 * keys are small and are converted to the form that the kernels take.
 *
 * @throws WeightMapError with everything that is missing, wrong or superfluous
 * @throws OutOfMemoryError before anything is loaded, when the device copies weights and has too little memory
 */
export async function loadEncoder(
  checkpoint: Checkpoint,
  device: Device,
  config: EncoderConfig,
  options: LoadEncoderOptions,
): Promise<LoadedEncoder> {
  // The size of weights that are quantised on load is only known afterwards.
  if (options.quantizeOnLoad === null) {
    device.requireMemory(weightBytes(checkpoint.weights, ROOTS), 'weights of the audio part');
  }
  const quantizer = onLoadQuantizer(options.quantizeOnLoad, options.signal);
  const mapper: Mapper = new WeightMapper(checkpoint.weights, device, quantizer);
  try {
    const parts =
      config.kind === 'tower' ? await loadTower(mapper, config) : await loadFrames(mapper, config);
    mapper.finish();
    checkUnused(checkpoint);
    const encoder: Encoder =
      parts.kind === 'frames' ? parts : { ...parts, layers: await withRelativeKeys(device, mapper, parts) };
    return { encoder, dispose: () => mapper.dispose() };
  } catch (error) {
    mapper.dispose();
    throw error;
  }
}

async function loadFrames(mapper: Mapper, config: FrameEncoderConfig) {
  const { samplesPerToken, normEps, textWidth } = config;
  const embedder = await loadEmbedder(mapper, samplesPerToken, normEps, textWidth);
  return { kind: 'frames', samplesPerToken, embedder } as const;
}

async function loadEmbedder(
  mapper: Mapper,
  width: number,
  normEps: number,
  textWidth: number,
): Promise<Embedder> {
  return { normEps, projection: await mapper.matrix(`${EMBEDDER}.embedding_projection`, textWidth, width) };
}

/** Layers without their relative keys, which are computed from other weights. */
interface TowerParts {
  readonly layers: readonly LayerParts[];
  readonly distances: number;
}

interface LayerParts extends Omit<ConformerLayer, 'attention'> {
  readonly attention: Omit<LocalAttention, 'relativeKeys'>;
  readonly relativeKey: Matrix<'HK', 'D'>;
}

async function withRelativeKeys(
  device: Device,
  mapper: Mapper,
  { layers, distances }: TowerParts,
): Promise<ConformerLayer[]> {
  const projections = layers.map((layer) => layer.relativeKey);
  const keys = await relativeKeys(device, mapper, projections, distances);
  return layers.map(({ relativeKey: _, attention, ...layer }, index) => ({
    ...layer,
    attention: { ...attention, relativeKeys: keys[index]! },
  }));
}

async function loadTower(mapper: Mapper, config: TowerEncoderConfig) {
  const { tower, textWidth } = config;
  const { hiddenSize: width, outputSize, rmsNormEps: normEps } = tower;
  const constants: ConformerConstants = {
    normEps,
    bound: tower.gradientClipping,
    headCount: tower.headCount,
    reach: config.reach,
    scoreCap: tower.logitCap,
    keyScale: Math.log(1 + Math.E) / Math.LN2,
  };
  const layers: LayerParts[] = [];
  for (let index = 0; index < tower.layerCount; index++) {
    layers.push(await loadLayer(mapper, config, constants, `${TOWER}.layers.${index}`));
  }
  return {
    kind: 'tower',
    melBins: MEL_BINS,
    subsampling: await loadSubsampling(mapper, config),
    layers,
    distances: tower.contextLeft,
    output: {
      weight: await mapper.matrix<'U', 'D'>(`${TOWER}.output_proj`, outputSize, width),
      bias: mapper.vector<'U'>(`${TOWER}.output_proj.bias`, outputSize),
    },
    embedder: await loadEmbedder(mapper, outputSize, normEps, textWidth),
  } as const;
}

async function loadSubsampling(mapper: Mapper, { tower }: TowerEncoderConfig): Promise<Subsampling> {
  const path = `${TOWER}.subsample_conv_projection`;
  const [first, second] = tower.subsamplingChannels;
  const block = async (index: 0 | 1, outChannels: number, inChannels: number) => ({
    kernel: await loadConvKernel(mapper, `${path}.layer${index}.conv.weight`, outChannels, inChannels),
    norm: mapper.vector<'C'>(`${path}.layer${index}.norm.weight`, outChannels),
  });
  const frequencies = Math.ceil(Math.ceil(MEL_BINS / 2) / 2);
  return {
    normEps: tower.rmsNormEps,
    blocks: [await block(0, first, 1), await block(1, second, first)],
    projection: await mapper.matrix(`${path}.input_proj_linear`, tower.hiddenSize, frequencies * second),
  };
}

async function loadLayer(
  mapper: Mapper,
  config: TowerEncoderConfig,
  constants: ConformerConstants,
  path: string,
): Promise<LayerParts> {
  const { hiddenSize: width } = config.tower;
  return {
    constants,
    feedForward1: await loadFeedForward(mapper, config, `${path}.feed_forward1`),
    ...(await loadAttention(mapper, config, path)),
    convolution: await loadConvolution(mapper, config, `${path}.lconv1d`),
    feedForward2: await loadFeedForward(mapper, config, `${path}.feed_forward2`),
    outputNorm: mapper.vector(`${path}.norm_out.weight`, width),
  };
}

/** Width of a feed-forward branch over that of the tower. */
const FEED_FORWARD_FACTOR = 4;

async function loadFeedForward(
  mapper: Mapper,
  config: TowerEncoderConfig,
  path: string,
): Promise<HalfFeedForward> {
  const { hiddenSize: width, residualWeight } = config.tower;
  const inner = FEED_FORWARD_FACTOR * width;
  const { values } = await mapper.numbers(`${path}.post_layer_norm.weight`, [width]);
  const outputGain = values.map((gain) => gain * residualWeight);
  return {
    inputNorm: mapper.vector(`${path}.pre_layer_norm.weight`, width),
    up: await loadClipped(mapper, config, `${path}.ffw_layer_1`, inner, width),
    down: await loadClipped(mapper, config, `${path}.ffw_layer_2`, width, inner),
    outputNorm: mapper.uploadVector(outputGain, 'feed-forward gain'),
  };
}

async function loadAttention(
  mapper: Mapper,
  config: TowerEncoderConfig,
  layerPath: string,
): Promise<Pick<LayerParts, 'attention' | 'relativeKey'>> {
  const { hiddenSize: width, headDim } = config.tower;
  const path = `${layerPath}.self_attn`;
  const projection = <Out extends Axis, In extends Axis>(name: string) =>
    loadClipped<Out, In>(mapper, config, `${path}.${name}`, width, width);
  const { values } = await mapper.numbers(`${path}.per_dim_scale`, [headDim]);
  const queryScale = values.map((scale) => (softplus(scale) * headDim ** -0.5) / Math.LN2);
  return {
    attention: {
      inputNorm: mapper.vector(`${layerPath}.norm_pre_attn.weight`, width),
      query: await projection('q_proj'),
      key: await projection('k_proj'),
      value: await projection('v_proj'),
      queryScale: mapper.uploadVector(queryScale, 'query scale'),
      output: await projection('post'),
      outputNorm: mapper.vector(`${layerPath}.norm_post_attn.weight`, width),
    },
    relativeKey: mapper.mapped(`${path}.relative_k_proj`, width, width),
  };
}

async function loadConvolution(
  mapper: Mapper,
  config: TowerEncoderConfig,
  path: string,
): Promise<LightConvolution> {
  const { hiddenSize: width, convKernelSize } = config.tower;
  return {
    inputNorm: mapper.vector(`${path}.pre_layer_norm.weight`, width),
    start: await loadClipped(mapper, config, `${path}.linear_start`, 2 * width, width),
    kernel: await loadDepthwiseKernel(mapper, `${path}.depthwise_conv1d.weight`, width, convKernelSize),
    norm: mapper.vector(`${path}.conv_norm.weight`, width),
    end: await loadClipped(mapper, config, `${path}.linear_end`, width, width),
  };
}

/** A linear and its four bounds. If the config asks for bounds, a missing one is an error; otherwise it would go unnoticed. */
async function loadClipped<Out extends Axis, In extends Axis>(
  mapper: Mapper,
  { tower }: TowerEncoderConfig,
  path: string,
  rows: number,
  columns: number,
): Promise<ClippedLinear<Out, In>> {
  const weight = await mapper.matrix<Out, In>(`${path}.linear`, rows, columns);
  if (!tower.usesClippedLinears) return { weight, clip: null };
  const bound = async (name: string) => (await mapper.numbers(`${path}.${name}`, [], [1])).values[0]!;
  return {
    weight,
    clip: {
      input: { low: await bound('input_min'), high: await bound('input_max') },
      output: { low: await bound('output_min'), high: await bound('output_max') },
    },
  };
}

/** ln(1 + e^x). */
function softplus(x: number): number {
  return Math.max(x, 0) + Math.log1p(Math.exp(-Math.abs(x)));
}

/** Unused tensors mean that config.json and the weights describe different models. */
function checkUnused(checkpoint: Checkpoint): void {
  const isClip = /\.(?:input|output)_(?:min|max)$/;
  const unused = checkpoint.weights
    .unused()
    .filter((name) => ROOTS.some((root) => name.startsWith(`${root}.`)) && !isClip.test(name));
  if (unused.length > 0) throw new WeightMapError({ unused });
}
