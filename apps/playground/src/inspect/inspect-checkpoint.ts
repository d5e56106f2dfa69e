import type { Checkpoint, ModelConfig } from '@markbase/loader';
import { kvCacheSize } from '@markbase/text';
import { textShape, type VariantName } from '../synth/shape.js';
import { bytesBy, type CountedTensor, moduleGroup, moduleStorages } from './tensor-statistics.js';

/** Everything that `markbase inspect` says about a checkpoint folder. */
export type CheckpointReport = ReturnType<typeof inspectCheckpoint>;

/** Describes a checkpoint; no tensor is read. */
export function inspectCheckpoint(checkpoint: Checkpoint) {
  const { config, quantization, weights } = checkpoint;
  const tensors: CountedTensor[] = weights.names().map((name) => {
    const { dtype, shape, range } = weights.tensor(name);
    return { name, dtype, shape, range };
  });
  const { layers, ...shape } = config.text;
  const variant = variantOf(config);
  return {
    directory: checkpoint.directory,
    variant,
    isReleasedSize: hasReleasedSize(variant, config.text),
    family: config.family,
    modelType: config.modelType,
    sizeBytes: checkpoint.sizeBytes,
    shape,
    layers: layers.map((layer, index) => ({ index, ...layer })),
    towers: towers(config),
    quantization: quantization && {
      mode: quantization.mode,
      bits: quantization.bits,
      groupSize: quantization.groupSize,
      overrideCount: quantization.overrides.size,
    },
    modules: moduleStorages(tensors, quantization),
    bytesByDtype: bytesBy(tensors, (tensor) => tensor.dtype),
    bytesByModule: bytesBy(tensors, (tensor) => moduleGroup(tensor.name)),
    // A drafter has no cache of its own.
    kv: config.family === 'gemma4_assistant' ? null : kvCacheSize(config.text),
    files: { weights: [...new Set(tensors.map((tensor) => tensor.range.path))].sort(), ...checkpoint.files },
    generation: checkpoint.generation,
    tensors,
  };
}

/** The member of the family whose structure a decoder has, whatever its size. */
function variantOf({ family, text }: ModelConfig): VariantName | null {
  if (family === 'gemma4_assistant') return null;
  if (family === 'gemma4_unified') return '12b';
  if (text.experts) return '26b-a4b';
  if (text.perLayerInputSize === 0) return '31b';
  return text.layers.some((layer) => layer.intermediateSize > text.intermediateSize) ? 'e2b' : 'e4b';
}

function hasReleasedSize(variant: VariantName | null, text: ModelConfig['text']): boolean {
  if (variant === null) return false;
  const { hiddenSize, layerCount, intermediateSize } = textShape(variant);
  return (
    hiddenSize === text.hiddenSize &&
    layerCount === text.layerCount &&
    intermediateSize === text.intermediateSize
  );
}

function towers(config: ModelConfig): { vision: boolean; audio: boolean } {
  if (config.family === 'gemma4_assistant') return { vision: false, audio: false };
  return { vision: config.vision !== null, audio: config.audio !== null };
}
