import type { DType } from '@markbase/core';
import type { Checkpoint } from '../checkpoint/open-checkpoint.js';
import type { AbsentTowers } from '../checkpoint/towers.js';
import type { ModelConfig } from '../config/model-config.js';
import type { QuantizationConfig } from '../config/quantization-config.js';
import {
  type EstimateOptions,
  type EstimateSource,
  estimate,
  type StoredSize,
} from '../estimate/estimate.js';
import { moduleStorages } from './module-storage.js';
import { releasedVariant, type VariantName, variantOf } from './variant.js';

/** A tensor of a report: what it is and where it is stored. */
export interface ReportedTensor {
  /** Name of the tensor. */
  readonly name: string;
  /** Element type in the file. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** Path or address. */
  readonly file: string;
  /** Position of its first byte in the file. */
  readonly offsetBytes: number;
  /** Bytes in the file. */
  readonly sizeBytes: number;
}

/** Everything that `inspect` says about a checkpoint. */
export type CheckpointReport = ReturnType<typeof inspectCheckpoint>;

/** What can be inspected: a `Checkpoint` or a `RemoteCheckpoint`. */
export interface InspectSource extends EstimateSource {
  /** The checked configuration. */
  readonly config: ModelConfig;
  /** Why the checkpoint takes no pictures or no sound; null = it does. */
  readonly absent: AbsentTowers;
  /** How matrices are quantised; null if none is. */
  readonly quantization: QuantizationConfig | null;
  /** Bytes of all tensors. */
  readonly sizeBytes: number;
  /** The tensors by name. */
  readonly weights: {
    /** All tensors with their names. */
    entries(): Iterable<
      readonly [
        string,
        StoredSize & { readonly range: { readonly path: string; readonly offsetBytes: number } },
      ]
    >;
  };
}

/** Describes a checkpoint and estimates its memory; no tensor is read. */
export function inspectCheckpoint(source: InspectSource, options: EstimateOptions = {}) {
  const { config, quantization, weights } = source;
  const tensors = Array.from(weights.entries(), ([name, { dtype, shape, range }]): ReportedTensor => {
    const { path: file, offsetBytes, sizeBytes } = range;
    return { name, dtype, shape, file, offsetBytes, sizeBytes };
  });
  const { layers, ...shape } = config.text;
  const variant = variantOf(config);
  return {
    variant,
    isReleasedSize: isReleased(variant, config),
    family: config.family,
    modelType: config.modelType,
    sizeBytes: source.sizeBytes,
    shape,
    layers: layers.map((layer, index) => ({ index, ...layer })),
    towers: { vision: source.absent.vision === null, audio: source.absent.audio === null },
    absent: source.absent,
    quantization: quantization && {
      mode: quantization.mode,
      bits: quantization.bits,
      groupSize: quantization.groupSize,
      overrideCount: quantization.overrides.size,
    },
    modules: moduleStorages(tensors, quantization),
    memory: estimate(source, options),
    weightFiles: [...new Set(tensors.map(({ file }) => file))].sort(),
    tensors,
  };
}

/** What a folder says in addition to its weights: where it is, the files next to them, and how answers are sampled and end. */
export function describeFolder({ directory, files, generation, findings }: Checkpoint) {
  return { directory, files, generation, findings };
}

function isReleased(variant: VariantName | null, { text }: ModelConfig): boolean {
  const released = variant === null ? null : releasedVariant(variant);
  return (
    released !== null &&
    released.hiddenSize === text.hiddenSize &&
    released.layerCount === text.layerCount &&
    released.intermediateSize === text.intermediateSize
  );
}
