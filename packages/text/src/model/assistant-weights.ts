import { InvalidArgumentError, WeightMapError } from '@markbase/core';
import type {
  Checkpoint,
  Gemma4AssistantConfig,
  StoredMatrix,
  TensorView,
  WeightIndex,
} from '@markbase/loader';
import { type Axis, type Device, type KvCache, type Matrix, WeightMapper } from '@markbase/metal-runtime';
import type { AssistantHead, AssistantWeights, ClusterPart } from './assistant.js';
import type { DecoderConfig } from './config.js';
import { inverseFrequencies } from './rope-frequencies.js';
import { loadDecoder } from './weights.js';

/** Most clusters that one command chooses among; kMaxExperts of a GPU's plan. */
const MOST_CLUSTERS = 1024;
const CENTROIDS = 'masked_embedding.centroids';
const ORDERING = 'masked_embedding.token_ordering';

/** What a drafter needs of its target. */
export interface AssistantSources {
  readonly checkpoint: Checkpoint;
  readonly device: Device;
  /** D of the target. */
  readonly hiddenWidth: number;
  /** V of the target. */
  readonly vocabularySize: number;
  /** The cache that the drafter's layers of a kind read. */
  cacheOf(kind: 'full' | 'sliding'): KvCache;
}

/** A drafter with its mapped weights. */
export interface LoadedAssistant {
  readonly weights: AssistantWeights;
  /** Inverse frequencies [K/2], by index of rope. */
  readonly frequencies: readonly Float32Array[];
  dispose(): void;
}

/**
 * Maps the weights of a drafter.
 *
 * @throws InvalidArgumentError if it is none, or that of another model
 * @throws WeightMapError that lists all tensors that are missing, unused or have the wrong shape
 */
export async function loadAssistant(sources: AssistantSources): Promise<LoadedAssistant> {
  const { checkpoint, device, hiddenWidth } = sources;
  const config = checkedConfig(sources);
  const { text } = config;
  const kinds = [...new Set(text.layers.map(({ kind }) => kind))];
  const layers = text.layers.map((layer, index) => ({ ...layer, kvSource: index }));
  const decoderConfig: DecoderConfig = {
    modelType: config.modelType,
    hiddenWidth: text.hiddenSize,
    headCount: text.headCount,
    vocabularySize: text.vocabSize,
    normEps: text.rmsNormEps,
    windowTokens: text.slidingWindow,
    logitCap: null,
    perLayer: null,
    layers,
    lastCachingLayer: -1,
    isBidirectionalInImages: false,
    maxPositions: text.maxPositions,
    hasExperts: false,
    hasTiedHead: true,
    padTokenId: text.padTokenId,
    placeholders: { image: null, video: null, audio: null, delimiters: [] },
  };
  const { decoder, dispose: disposeDecoder } = await loadDecoder({
    checkpoint,
    device,
    config: decoderConfig,
    caches: { ofLayer: (index) => sources.cacheOf(layers[index]!.kind) },
    rope: { vectors: [], indexOf: (index) => kinds.indexOf(layers[index]!.kind) },
  });
  const mapper = new WeightMapper(checkpoint.weights, device);
  const dispose = () => {
    mapper.dispose();
    disposeDecoder();
  };
  try {
    const narrow = text.hiddenSize;
    const toHidden = mapper.mapped<'D', 'D'>('post_projection', hiddenWidth, narrow);
    mapper.finish();
    const projection = { rows: narrow, columns: 2 * hiddenWidth };
    const stored = checkpoint.weights.matrix('pre_projection', projection);
    const weights: AssistantWeights = {
      normEps: text.rmsNormEps,
      fromEmbedding: await uploadHalf(mapper, stored, 0),
      fromHidden: await uploadHalf(mapper, stored, 1),
      layers: decoder.layers,
      finalNorm: decoder.finalNorm,
      toHidden,
      head: await loadHead(mapper, checkpoint, config, decoder.embedding),
    };
    const frequencies = kinds.map((kind) => inverseFrequencies(layers.find((layer) => layer.kind === kind)!));
    return { weights, frequencies, dispose };
  } catch (error) {
    dispose();
    throw error;
  }
}

function checkedConfig(sources: AssistantSources): Gemma4AssistantConfig {
  const { checkpoint, hiddenWidth, vocabularySize, cacheOf } = sources;
  const { config, directory } = checkpoint;
  const fail = (expected: string, received: string): never => {
    throw new InvalidArgumentError({
      argument: 'assistant',
      expected,
      received: `${received} in ${directory}`,
    });
  };
  if (config.family !== 'gemma4_assistant') return fail('a drafter', config.modelType);
  const { backboneHiddenSize, text } = config;
  if (backboneHiddenSize !== hiddenWidth)
    return fail(
      `the drafter of a model with hidden states of ${hiddenWidth}`,
      `one for ${backboneHiddenSize}`,
    );
  if (text.vocabSize !== vocabularySize)
    return fail(`a drafter with ${vocabularySize} token ids`, `${text.vocabSize}`);
  for (const { kind, headDim } of text.layers) {
    const { headWidth, kvHeadCount } = cacheOf(kind);
    if (headDim !== headWidth || text.headCount % kvHeadCount !== 0)
      return fail(
        `${kind} layers with heads of ${headWidth}, a multiple of ${kvHeadCount}`,
        `${text.headCount} of ${headDim}`,
      );
  }
  return config;
}

async function loadHead(
  mapper: WeightMapper<TensorView>,
  { weights }: Checkpoint,
  { orderedEmbeddings, text }: Gemma4AssistantConfig,
  plain: Matrix<'V', 'D'>,
): Promise<AssistantHead> {
  if (orderedEmbeddings === null) return { kind: 'plain', weight: plain };
  const { vocabSize, hiddenSize: columns } = text;
  const { centroids: count, topK } = orderedEmbeddings;
  const clusterSize = vocabSize / count;
  const ordering = await orderingOf(weights, vocabSize);
  const centroids = weights.matrix(CENTROIDS, { rows: count, columns });
  const table = weights.matrix('language_model.embed_tokens', { rows: vocabSize, columns });
  const parts: ClusterPart[] = [];
  for (let begin = 0; begin < count; begin += MOST_CLUSTERS) {
    const clusters = Math.min(MOST_CLUSTERS, count - begin);
    const ids = ordering.slice(begin * clusterSize, (begin + clusters) * clusterSize);
    const own = Int32Array.from({ length: clusters }, (_, index) => begin + index);
    parts.push({
      centroids: await uploadRows<'E'>(mapper, centroids, own),
      scale: mapper.uploadVector(new Float32Array(clusters).fill(1), CENTROIDS),
      embeddings: {
        expertCount: clusters,
        rows: clusterSize,
        columns,
        rowsPerExpert: clusterSize,
        firstRow: 0,
        stored: await uploadRows<Axis>(mapper, table, ids),
      },
      ids,
    });
  }
  return { kind: 'clusters', topK, parts };
}

/** The ids in the order of their clusters. */
async function orderingOf(weights: WeightIndex, vocabularySize: number): Promise<Int32Array> {
  const tensor = weights.tensor(ORDERING);
  const ids = Int32Array.from(await tensor.readFloat32());
  if (ids.length === vocabularySize && ids.every((id) => id >= 0 && id < vocabularySize)) return ids;
  const mismatched = [`${ORDERING} is [${tensor.shape}], expected ${vocabularySize} token ids`];
  throw new WeightMapError({ mismatched });
}

/** Rows of a matrix in another order. */
function uploadRows<Out extends Axis>(
  mapper: WeightMapper<TensorView>,
  stored: StoredMatrix,
  rows: Int32Array,
): Promise<Matrix<Out, 'D'>> {
  return uploadPieces(mapper, stored, { rows: rows.length, columns: stored.columns }, (bytes, rowBytes) => {
    const made = new Uint8Array(rows.length * rowBytes);
    for (const [index, row] of rows.entries())
      made.set(bytes.subarray(row * rowBytes, (row + 1) * rowBytes), index * rowBytes);
    return made;
  });
}

/** The left (0) or right (1) half of the columns of a matrix; the format's groups do not cross the middle. */
function uploadHalf(
  mapper: WeightMapper<TensorView>,
  stored: StoredMatrix,
  half: 0 | 1,
): Promise<Matrix<'D', 'D'>> {
  const shape = { rows: stored.rows, columns: stored.columns / 2 };
  const group = 'groupSize' in stored ? stored.groupSize : 1;
  if (shape.columns % group !== 0) {
    throw new InvalidArgumentError({
      argument: 'assistant',
      expected: `a pre_projection whose halves are groups of ${group} columns`,
      received: `${stored.columns} columns`,
      hint: 'Quantise the drafter with smaller groups',
    });
  }
  return uploadPieces(mapper, stored, shape, (bytes, rowBytes) => {
    const made = new Uint8Array(bytes.length / 2);
    const halfBytes = rowBytes / 2;
    for (let row = 0; row < stored.rows; row++) {
      const begin = row * rowBytes + half * halfBytes;
      made.set(bytes.subarray(begin, begin + halfBytes), row * halfBytes);
    }
    return made;
  });
}

/** A matrix made of pieces of the rows of another one, in the same format. */
async function uploadPieces<Out extends Axis>(
  mapper: WeightMapper<TensorView>,
  stored: StoredMatrix,
  shape: { readonly rows: number; readonly columns: number },
  cut: (bytes: Uint8Array, rowBytes: number) => Uint8Array,
): Promise<Matrix<Out, 'D'>> {
  const upload = async (tensor: TensorView) => {
    const bytes = await tensor.read();
    return mapper.upload(cut(bytes, bytes.length / stored.rows), tensor.name);
  };
  const weight = await upload(stored.weight);
  if (stored.kind === 'plain') return { kind: 'plain', ...shape, dtype: stored.dtype, weight };
  const scales = await upload(stored.scales);
  if (stored.kind !== 'affine') return { kind: stored.kind, ...shape, weight, scales };
  const { bits, groupSize, scaleDtype } = stored;
  const biases = await upload(stored.biases);
  return { kind: 'affine', ...shape, bits, groupSize, scaleDtype, weight, scales, biases };
}
