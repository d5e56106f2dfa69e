import { join } from 'node:path';
import { checkOptionNames, type OptionNames } from '@markbase/core';
import { ConfigReader } from '../config/config-reader.js';
import { type GenerationConfig, parseGenerationConfig } from '../config/generation-config.js';
import { type ModelConfig, parseModelConfig } from '../config/model-config.js';
import {
  foreignLayoutError,
  parseQuantization,
  type QuantizationConfig,
} from '../config/quantization-config.js';
import { readJson } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import { foreignLayout } from '../quantization/foreign-layout.js';
import type { ReadOptions } from '../safetensors/read-safetensors.js';
import { type CheckpointFiles, COMPANION_FILES, locateCompanions, locateDirectory } from './locate-files.js';
import { openShards } from './shards.js';
import type { StorageWarning } from './stored-matrix.js';
import { createWeightIndex, type WeightIndex } from './weight-index.js';

/** An opened and checked checkpoint folder: typed settings and the location of every tensor. No tensor has been read. */
export interface Checkpoint {
  /** Absolute path of the folder with config.json. */
  readonly directory: string;
  /** Absolute path of config.json. */
  readonly configPath: string;
  /** Everything that config.json says, checked. */
  readonly config: ModelConfig;
  /** null = nothing is quantised. */
  readonly quantization: QuantizationConfig | null;
  /** The tensors by name; none is read yet. */
  readonly weights: WeightIndex;
  /** Paths of the files next to the weights. */
  readonly files: CheckpointFiles;
  /** Default sampling parameters and stop tokens of the checkpoint. */
  readonly generation: GenerationConfig;
  /** Bytes of all tensors. */
  readonly sizeBytes: number;
}

/** Options of `openCheckpoint`. */
export interface OpenOptions {
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** What to allow in the headers of weight files. */
  readonly header?: ReadOptions;
  /** Called when a requested module is stored differently from what config.json says; see `WeightIndex.warnings`. */
  onWarning?(warning: StorageWarning): void;
}

const OPTIONS: OptionNames<OpenOptions> = { signal: true, header: true, onWarning: true };

/**
 * Opens a checkpoint in the Hugging Face or the MLX layout.
 *
 * @param directory a folder with config.json, or a repository folder of the Hugging Face cache
 * @throws FileAccessError, CorruptFileError, InvalidConfigError, UnsupportedModelError; the signal's reason when aborted
 */
export async function openCheckpoint(directory: string, options: OpenOptions = {}): Promise<Checkpoint> {
  checkOptionNames(options, OPTIONS);
  const { signal } = options;
  signal?.throwIfAborted();
  const root = await locateDirectory(directory);
  const configPath = join(root, 'config.json');
  const json = await readJson(configPath, MAX_CONFIG_BYTES);
  const config = parseModelConfig(json, configPath);
  const quantization = parseQuantization(new ConfigReader(json, configPath));
  signal?.throwIfAborted();
  const files = await locateCompanions(root);
  const generationJson =
    files.generationConfig === null ? null : await readJson(files.generationConfig, MAX_CONFIG_BYTES);
  const generationPath = files.generationConfig ?? join(root, COMPANION_FILES.generationConfig);
  const generation = parseGenerationConfig(generationJson, generationPath, config.text.eosTokenIds);
  signal?.throwIfAborted();
  const tensors = await openShards(root, signal, options.header);
  const { tieWordEmbeddings } = config.text;
  const weights = createWeightIndex({
    tensors,
    quantization,
    tieWordEmbeddings,
    configPath,
    modelType: config.modelType,
    onWarning: options.onWarning,
  });
  const foreign = foreignLayout(weights.names());
  if (foreign !== null) {
    throw foreignLayoutError(config.modelType, `${foreign.layout} (it has the tensor ${foreign.tensor})`);
  }
  return {
    directory: root,
    configPath,
    config,
    quantization,
    weights,
    files,
    generation,
    sizeBytes: tensors.reduce((sum, tensor) => sum + tensor.range.sizeBytes, 0),
  };
}
