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
import { isFile } from '../files/file-access.js';
import { readJson } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import { foreignLayout } from '../quantization/foreign-layout.js';
import type { ReadOptions } from '../safetensors/read-safetensors.js';
import type { Finding } from './finding.js';
import { type CheckpointFiles, COMPANION_FILES, locateCompanions, locateDirectory } from './locate-files.js';
import { openShards } from './shards.js';
import type { StorageWarning } from './stored-matrix.js';
import { templateFindings } from './template-findings.js';
import { type AbsentTowers, presentTowers, sidecarNames } from './towers.js';
import { createWeightIndex, type WeightIndex } from './weight-index.js';

/** An opened and checked checkpoint folder: typed settings and the location of every tensor. No tensor has been read. */
export interface Checkpoint {
  /** Absolute path of the folder with config.json. */
  readonly directory: string;
  /** Absolute path of config.json. */
  readonly configPath: string;
  /** Towers whose tensors are missing are null, whatever config.json says; see `absent`. */
  readonly config: ModelConfig;
  /** Why the checkpoint takes no pictures or no sound; null = it does. */
  readonly absent: AbsentTowers;
  /** null = nothing is quantised. */
  readonly quantization: QuantizationConfig | null;
  /** The tensors by name; none is read yet. */
  readonly weights: WeightIndex;
  /** Paths of the files next to the weights. */
  readonly files: CheckpointFiles;
  /** Default sampling parameters and stop tokens of the checkpoint. */
  readonly generation: GenerationConfig;
  /** What was noticed about files and towers; `validateCheckpoint` finds more. */
  readonly findings: readonly Finding[];
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
  const claimed = parseModelConfig(json, configPath);
  const reader = new ConfigReader(json, configPath);
  const quantization = parseQuantization(reader);
  signal?.throwIfAborted();
  const files = await locateCompanions(root);
  const generationJson =
    files.generationConfig === null ? null : await readJson(files.generationConfig, MAX_CONFIG_BYTES);
  const generationPath = files.generationConfig ?? join(root, COMPANION_FILES.generationConfig);
  const generation = parseGenerationConfig(generationJson, generationPath, claimed.text.eosTokenIds);
  signal?.throwIfAborted();
  const [sidecars, lost] = await locateSidecars(root, reader);
  const { tensors, findings } = await openShards(root, { signal, header: options.header, sidecars });
  const { tieWordEmbeddings } = claimed.text;
  const weights = createWeightIndex({
    tensors,
    quantization,
    tieWordEmbeddings,
    configPath,
    modelType: claimed.modelType,
    onWarning: options.onWarning,
  });
  const foreign = foreignLayout(weights.names());
  if (foreign !== null) {
    throw foreignLayoutError(claimed.modelType, `${foreign.layout} (it has the tensor ${foreign.tensor})`);
  }
  const towers = presentTowers(claimed, weights.names(), lost[0]);
  return {
    directory: root,
    configPath,
    config: towers.config,
    absent: towers.absent,
    quantization,
    weights,
    files,
    generation,
    findings: [
      ...findings,
      ...(await templateFindings(files)),
      ...lost.map((name) => lostSidecar(configPath, name)),
      ...towers.findings,
    ],
    sizeBytes: tensors.reduce((sum, tensor) => sum + tensor.range.sizeBytes, 0),
  };
}

/** The further weight files that config.json names: those that exist, and those that do not. */
async function locateSidecars(root: string, reader: ConfigReader): Promise<[string[], string[]]> {
  const existing: string[] = [];
  const lost: string[] = [];
  for (const name of sidecarNames(reader)) {
    const isPlain = /^[^/\\:\0]+\.safetensors$/.test(name);
    if (isPlain && (await isFile(join(root, name)))) existing.push(name);
    else lost.push(name);
  }
  return [existing, lost];
}

function lostSidecar(configPath: string, name: string): Finding {
  const message = `${configPath} names the weight file ${JSON.stringify(name.slice(0, 120))}, which is not in the folder: download it`;
  return { level: 'error', code: 'SIDECAR_MISSING', subject: name, message };
}
