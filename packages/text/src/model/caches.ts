import type { LayerConfig } from '@markbase/loader';
import { BLOCK_TOKENS, type Device, type DeviceBuffer, type KvCache } from '@markbase/metal-runtime';
import type { DecoderConfig } from './config.js';

/** Sizes that determine the caches. */
export interface CacheSizes {
  /** Maximum number of positions in a sequence. */
  readonly contextTokens: number;
  /** Number of sequences held at once. */
  readonly slotCount: number;
  /** Maximum number of rows that a single step adds to one sequence. */
  readonly maxStepTokens: number;
  readonly dtype: 'F32' | 'BF16';
}

/** The caches of a decoder, one per layer that owns one. */
export interface Caches {
  /** The cache that layer `index` reads: its own, or that of the layer whose cache it shares. */
  ofLayer(index: number): KvCache;
  /** Number of positions per slot in the smallest cache. */
  readonly smallestCapacityTokens: number;
  /** Size of one slot in all caches in bytes, once every position is written. */
  readonly slotBytes: number;
  dispose(): void;
}

/**
 * Number of positions that a layer's cache must hold. A sliding layer needs the W - 1 past keys of the window in
 * addition to all rows of a step, because the first row of the step still sees them (docs/gemma4.md section 2.10).
 */
function capacityTokens(layer: LayerConfig, windowTokens: number, sizes: CacheSizes): number {
  if (layer.kind === 'full') return sizes.contextTokens;
  return Math.min(sizes.contextTokens, windowTokens - 1 + sizes.maxStepTokens);
}

/** Allocates the caches. On the CPU, memory is only committed where a sequence writes. */
export function allocateCaches(device: Device, config: DecoderConfig, sizes: CacheSizes): Caches {
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
  for (const [index, layer] of config.layers.entries()) {
    if (layer.kvSource !== null) continue;
    const capacity = capacityTokens(layer, config.windowTokens, sizes);
    const blockCount = sizes.slotCount * Math.ceil(capacity / BLOCK_TOKENS);
    const elements = blockCount * BLOCK_TOKENS * layer.kvHeadCount * layer.headDim;
    const bytes = elements * (sizes.dtype === 'F32' ? 4 : 2);
    owned.set(index, {
      keys: allocate(bytes, `keys of layer ${index}`),
      values: allocate(bytes, `values of layer ${index}`),
      blockCount,
      capacityTokens: capacity,
      kvHeadCount: layer.kvHeadCount,
      headWidth: layer.headDim,
      windowTokens: layer.kind === 'sliding' ? config.windowTokens : null,
      dtype: sizes.dtype,
    });
  }
  return {
    ofLayer: (index) => owned.get(config.layers[index]!.kvSource ?? index)!,
    slotBytes: buffers.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) / sizes.slotCount,
    smallestCapacityTokens: Math.min(...[...owned.values()].map((cache) => cache.capacityTokens)),
    dispose,
  };
}
