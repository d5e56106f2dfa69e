import { parseModelConfig, type TensorSource, type TextConfig } from '@markbase/loader';
import { configJson, generationConfigJson, type QuantizationEntry } from './config-json.js';
import { RandomPool } from './random-pool.js';
import type { TextShape } from './shape.js';
import { type Storage, synthTensors } from './tensors.js';

/** A random checkpoint before it is written: its JSON files and its tensors. */
export interface CheckpointPlan {
  /** Contents by file name. */
  readonly files: Readonly<Record<string, unknown>>;
  readonly tensors: readonly TensorSource[];
  readonly text: TextConfig;
}

/** Plans a text-only checkpoint with this shape. The same seed yields the same bytes. */
export function planCheckpoint(shape: TextShape, storage: Storage, seed: number): CheckpointPlan {
  const config = configJson(shape);
  const { text } = parseModelConfig(config, 'config.json');
  const { tensors, overrides } = synthTensors(text, storage, new RandomPool(seed));
  return {
    files: {
      'config.json': storage ? { ...config, ...quantizationJson(storage, overrides) } : config,
      'generation_config.json': generationConfigJson(),
    },
    tensors,
    text,
  };
}

/** MLX writes the same object under both names. */
function quantizationJson(
  storage: NonNullable<Storage>,
  overrides: Readonly<Record<string, QuantizationEntry>>,
): Record<string, unknown> {
  const quantization = {
    group_size: storage.groupSize,
    bits: storage.bits,
    mode: 'affine',
    ...overrides,
  };
  return { quantization, quantization_config: quantization };
}
