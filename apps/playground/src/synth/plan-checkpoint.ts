import { parseModelConfig, type TensorSource, type TextConfig } from '@markbase/loader';
import { configJson, generationConfigJson, type QuantizationEntry } from './config-json.js';
import { RandomPool } from './random-pool.js';
import type { TextShape } from './shape.js';
import { type Storage, TensorWriter } from './tensor-writer.js';
import { type Layout, writeDecoder } from './tensors.js';
import { writeTowers } from './tower-tensors.js';
import { NO_TOWERS, towersJson } from './towers-json.js';

/** A random checkpoint before it is written: its JSON files and its tensors. */
export interface CheckpointPlan {
  /** Contents by file name. */
  readonly files: Readonly<Record<string, unknown>>;
  readonly tensors: readonly TensorSource[];
  /** `__metadata__` of the weight files. */
  readonly metadata: Readonly<Record<string, string>>;
  readonly text: TextConfig;
}

/**
 * Plans a checkpoint with this shape: text only in the MLX layout, everything that was released in the Hugging Face layout.
 * The same seed yields the same bytes.
 */
export function planCheckpoint(
  shape: TextShape,
  storage: Storage,
  seed: number,
  layout: Layout = 'mlx',
): CheckpointPlan {
  const config = configJson(shape, layout === 'hf' ? towersJson(shape) : NO_TOWERS);
  const parsed = parseModelConfig(config, 'config.json');
  const writer = new TensorWriter(storage, new RandomPool(seed));
  writeDecoder(writer, parsed.text, layout);
  if (layout === 'hf') writeTowers(writer, parsed);
  const { tensors, overrides } = writer.result();
  return {
    files: {
      'config.json': storage ? { ...config, ...quantizationJson(storage, overrides) } : config,
      'generation_config.json': generationConfigJson(),
    },
    tensors,
    metadata: { format: layout === 'hf' ? 'pt' : 'mlx' },
    text: parsed.text,
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
    mode: storage.mode,
    ...overrides,
  };
  return { quantization, quantization_config: quantization };
}
