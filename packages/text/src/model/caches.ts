import { InvalidArgumentError } from '@markbase/core';
import type { LayerConfig } from '@markbase/loader';
import { BLOCK_TOKENS, type Device, type DeviceBuffer, type KvCache } from '@markbase/metal-runtime';
import type { DecoderConfig } from './config.js';

/** Share of a GPU's memory for weights and caches; the rest is for activations. */
const GPU_SHARE = 0.8;

/** Sizes that determine the caches. */
export interface CacheSizes {
  /** Maximum number of positions in a sequence. */
  readonly contextTokens: number;
  /** Number of sequences that the caches hold when all of them are full. */
  readonly sequences: number;
  /** Maximum number of rows that a single step adds to all sequences. */
  readonly maxStepTokens: number;
  readonly dtype: 'F32' | 'BF16';
  /** Maximum size of the caches in bytes; null = as large as the sequences need. */
  readonly limitBytes: number | null;
  /** The limit is an estimate: the caches hold one sequence even if it is exceeded. */
  readonly isEstimate: boolean;
}

/** The caches of a decoder, one per layer that owns one. */
export interface Caches {
  readonly fullBlocks: number;
  readonly slidingBlocks: number;
  /** Size of a block of all full layers, and of one of all sliding layers, in bytes. */
  readonly blockBytes: readonly [number, number];
  /** Size of a full sequence in bytes while no step adds to it. */
  readonly sequenceBytes: number;
  /** The cache that layer `index` reads: its own, or that of the layer whose cache it shares. */
  ofLayer(index: number): KvCache;
  dispose(): void;
}

/**
 * Numbers of blocks. A sliding layer holds the W - 1 past keys of the window, which may begin and end in the middle of a
 * block, for each sequence, in addition to the rows of one step, whose first row still sees all of the window
 * (docs/gemma4.md section 2.10).
 */
function blocksFor(sequences: number, windowTokens: number, sizes: CacheSizes): [number, number] {
  const context = Math.ceil(sizes.contextTokens / BLOCK_TOKENS);
  const window = Math.min(context, windowBlocks(windowTokens) + 1);
  const step = Math.ceil(sizes.maxStepTokens / BLOCK_TOKENS);
  return [sequences * context, Math.min(sequences * window + step, sequences * context)];
}

/** Most blocks that the past keys of a window touch. */
function windowBlocks(windowTokens: number): number {
  return Math.ceil((windowTokens - 1) / BLOCK_TOKENS) + 1;
}

/**
 * Allocates the caches. On the CPU, memory is only committed where a sequence writes.
 *
 * @throws InvalidArgumentError if `limitBytes` is not enough for one sequence
 */
export function allocateCaches(
  device: Device,
  config: Pick<DecoderConfig, 'layers' | 'windowTokens'>,
  sizes: CacheSizes,
): Caches {
  const elementBytes = sizes.dtype === 'F32' ? 4 : 2;
  const owners = [...config.layers.entries()].filter(([, { kvSource }]) => kvSource === null);
  const bytesOf = ({ kvHeadCount, headDim }: LayerConfig) =>
    2 * BLOCK_TOKENS * kvHeadCount * headDim * elementBytes;
  const blockBytes = (['full', 'sliding'] as const).map((kind) =>
    owners.reduce((sum, [, layer]) => sum + (layer.kind === kind ? bytesOf(layer) : 0), 0),
  ) as [number, number];
  const [fullBlocks, slidingBlocks] = limitBlocks(config.windowTokens, sizes, blockBytes);
  const slidingTokens = Math.min(sizes.contextTokens, config.windowTokens - 1 + sizes.maxStepTokens);
  const owned = new Map<number, KvCache>();
  const buffers: DeviceBuffer[] = [];
  const dispose = (): void => {
    for (const buffer of buffers) buffer.dispose();
  };
  const allocate = (bytes: number, label: string): DeviceBuffer => {
    try {
      const buffer = device.allocate(bytes, label);
      buffers.push(buffer);
      return buffer;
    } catch (error) {
      dispose();
      throw error;
    }
  };
  for (const [index, layer] of owners) {
    const blockCount = layer.kind === 'full' ? fullBlocks : slidingBlocks;
    const bytes = (blockCount * bytesOf(layer)) / 2;
    owned.set(index, {
      keys: allocate(bytes, `keys of layer ${index}`),
      values: allocate(bytes, `values of layer ${index}`),
      blockCount,
      capacityTokens: layer.kind === 'full' ? sizes.contextTokens : slidingTokens,
      kvHeadCount: layer.kvHeadCount,
      headWidth: layer.headDim,
      windowTokens: layer.kind === 'sliding' ? config.windowTokens : null,
      dtype: sizes.dtype,
    });
  }
  const context = Math.ceil(sizes.contextTokens / BLOCK_TOKENS);
  const window = Math.min(context, windowBlocks(config.windowTokens));
  return {
    fullBlocks,
    slidingBlocks,
    blockBytes,
    sequenceBytes: context * blockBytes[0] + window * blockBytes[1],
    ofLayer: (index) => owned.get(config.layers[index]!.kvSource ?? index)!,
    dispose,
  };
}

/** As many blocks as the sequences need; within a limit, the same share of what exceeds one sequence for both kinds. */
function limitBlocks(
  windowTokens: number,
  sizes: CacheSizes,
  blockBytes: readonly [number, number],
): [number, number] {
  const most = blocksFor(sizes.sequences, windowTokens, sizes);
  const least = blocksFor(1, windowTokens, sizes);
  const bytesOf = (blocks: readonly [number, number]) =>
    blocks[0] * blockBytes[0] + blocks[1] * blockBytes[1];
  const { limitBytes } = sizes;
  if (limitBytes === null || bytesOf(most) <= limitBytes) return most;
  if (bytesOf(least) > limitBytes) {
    if (sizes.isEstimate) return least;
    throw new InvalidArgumentError({
      argument: 'cacheBytes',
      expected: `at least ${bytesOf(least)}, for one sequence`,
      received: limitBytes,
      hint: 'Load the model with a smaller contextTokens or prefillChunk',
    });
  }
  const share = (limitBytes - bytesOf(least)) / (bytesOf(most) - bytesOf(least));
  const between = (kind: 0 | 1) => least[kind] + Math.floor((most[kind] - least[kind]) * share);
  return [between(0), between(1)];
}

/** Bytes that the caches may take on a GPU, which commits memory when it is allocated; null on processors. */
export function gpuCacheLimit({ info }: Device, weightBytes: number): number | null {
  if (info.kind === 'cpu') return null;
  return Math.floor(info.totalMemoryBytes * GPU_SHARE) - weightBytes;
}
