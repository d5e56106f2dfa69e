import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import { COPIED_FILES } from '../checkpoint/companion-files.js';
import { type Checkpoint, openCheckpoint } from '../checkpoint/open-checkpoint.js';
import type { QuantizedTensor } from '../checkpoint/stored-matrix.js';
import { hasSeparateHead, separateHeadError } from '../checkpoint/tied-head.js';
import { isDeadWeight, isSharedKeyValue, mlxName } from '../checkpoint/weight-names.js';
import { withFile } from '../files/file-access.js';
import { withJsonEntries } from '../files/json-entries.js';
import { readText } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import type { TensorGroup } from '../safetensors/tensor-group.js';
import { type FloatDType, isFloatDType } from './float-conversion.js';
import { type MlxTensor, toMlxTensors } from './mlx-tensors.js';
import { FLOAT_COLUMNS, type QuantizationMode, type QuantizationParameters } from './quantization-mode.js';
import { copiedGroup, quantizedGroup } from './quantize-group.js';
import {
  compileRules,
  DEFAULT_QUANTIZE_RULES,
  generalParameters,
  KEEP_TOWERS_RULES,
  type QuantizeRule,
  type RuleTable,
} from './quantize-rules.js';
import { dequantizedRows } from './row-source.js';
import { writeConversion } from './write-conversion.js';

/** Progress of `quantizeCheckpoint`. */
export interface QuantizeProgress {
  /** Name of the tensor that was just written, as in the new file; empty for a header. */
  readonly tensor: string;
  /** Bytes that have been written. */
  readonly doneBytes: number;
  /** Bytes of the new weight files. */
  readonly totalBytes: number;
}

/** Options of `quantizeCheckpoint`. */
export interface QuantizeOptions {
  /** General format; affine by default. */
  readonly mode?: QuantizationMode;
  /** General width of an affine code: 2, 3, 4, 5, 6 or 8; 4 by default. The other modes fix it. */
  readonly bits?: number;
  /** General group size when affine: 32, 64 or 128; 64 by default. The other modes fix it. */
  readonly groupSize?: number;
  /** Exceptions; the first match applies, and all of them take precedence over `DEFAULT_QUANTIZE_RULES`. */
  readonly rules?: readonly QuantizeRule[];
  /** keep (default): vision and audio encoders are copied as they are. quantize: they are quantised like the rest. */
  readonly towers?: 'keep' | 'quantize';
  /** Bytes of tensors per weight file; 5 GiB by default. */
  readonly maxShardBytes?: number;
  /**
   * true = continue where an earlier run with the same source and options stopped; an abort keeps what is done. false
   * (default) = start over.
   */
  readonly resume?: boolean;
  /** Aborts the work, which then throws the signal's reason; nothing is left in the target folder. */
  readonly signal?: AbortSignal;
  /** Called after every tensor, and after the headers of new files. */
  onProgress?(progress: QuantizeProgress): void;
}

/** What `quantizeCheckpoint` did. Modules and tensors by canonical names. */
export interface QuantizeReport {
  /** Folder of the new checkpoint, absolute. */
  readonly directory: string;
  /** The quantised modules, each with its format. */
  readonly quantized: readonly ({ readonly module: string } & QuantizationParameters)[];
  /** Those among them that the source stores in another format: their rounding errors add to those of the source. */
  readonly requantized: readonly string[];
  /** Plain matrices that were copied: skipped by a rule, or with columns that are not whole groups, or blocks of 32 for small floats. */
  readonly plain: readonly string[];
  /** Tensors that nothing needs, and that were left out. */
  readonly dropped: readonly string[];
  /** Bytes of all tensors before and after. */
  readonly sourceBytes: number;
  /** Bytes of all tensors that were written. */
  readonly targetBytes: number;
  /** Bytes that were kept from an earlier run. */
  readonly resumedBytes: number;
}

const DEFAULT_MAX_SHARD_BYTES = 5 * 1024 ** 3;

/** The arrays of a quantised module. */
const PARTS = /^(.*)\.(weight|scales|biases)$/;

/** The new checkpoint before anything is written. */
interface Plan {
  readonly groups: TensorGroup[];
  readonly quantized: ({ module: string } & QuantizationParameters)[];
  readonly requantized: string[];
  readonly plain: string[];
  readonly dropped: string[];
}

const OPTIONS: OptionNames<QuantizeOptions> = {
  mode: true,
  bits: true,
  groupSize: true,
  rules: true,
  towers: true,
  maxShardBytes: true,
  resume: true,
  signal: true,
  onProgress: true,
};

/**
 * Converts a checkpoint into the MLX layout, with quantised matrices.
 *
 * Matrices that the source stores in the wanted format, or that a rule skips, are copied. Those in another format are recovered and
 * quantised again, which adds the errors of both: take the original checkpoint if there is one.
 *
 * Tensors are renamed, convolutions become channel-last, fused experts are split, keys and values that no layer uses and
 * the copy of a tied head are dropped. config.json gets `quantization` with every exception, and the tokenizer and
 * processor files are copied. Memory use does not depend on the size of the model. Nothing appears under its name before
 * all weights are complete. After a failure or an abort no new file is left, unless `resume` is set: then the hidden
 * working folder stays, as it does when the process is killed, and the next run with `resume` continues from there.
 *
 * @param source a checkpoint folder, as for `openCheckpoint`
 * @param target folder of the new checkpoint; created when missing, never the source itself
 * @throws InvalidArgumentError for wrong options; the errors of `openCheckpoint`
 * and `writeSafetensors`; the signal's reason
 */
export async function quantizeCheckpoint(
  source: string,
  target: string,
  options: QuantizeOptions,
): Promise<QuantizeReport> {
  checkOptionNames(options, OPTIONS);
  const { signal } = options;
  const rules = compileRules(rulesOf(options), options);
  const checkpoint = await openCheckpoint(source, { signal });
  await checkPlaces(checkpoint, target);
  const isTied = checkpoint.config.text.tieWordEmbeddings;
  if (isTied && (await hasSeparateHead(checkpoint.weights, checkpoint.config, null, signal))) {
    throw separateHeadError(checkpoint.configPath);
  }
  const plan = planCheckpoint(checkpoint, rules);
  const directory = resolve(target);
  const resumedBytes = await writeConversion(directory, {
    groups: plan.groups,
    configText: await quantizedConfig(checkpoint, plan, options),
    copiedFiles: COPIED_FILES.map((name) => join(checkpoint.directory, name)),
    fingerprint: await fingerprintOf(checkpoint, options),
    maxShardBytes: options.maxShardBytes ?? DEFAULT_MAX_SHARD_BYTES,
    resume: options.resume ?? false,
    signal,
    onWritten: ({ writtenBytes, totalBytes }, tensor) =>
      options.onProgress?.({ tensor, doneBytes: writtenBytes, totalBytes }),
  });
  const { quantized, requantized, plain, dropped } = plan;
  const { sizeBytes: targetBytes } = await openCheckpoint(directory);
  const { sizeBytes: sourceBytes } = checkpoint;
  return { directory, quantized, requantized, plain, dropped, sourceBytes, targetBytes, resumedBytes };
}

function rulesOf({ rules = [], towers = 'keep' }: QuantizeOptions): QuantizeRule[] {
  return [...rules, ...(towers === 'keep' ? KEEP_TOWERS_RULES : []), ...DEFAULT_QUANTIZE_RULES];
}

async function checkPlaces(checkpoint: Checkpoint, target: string): Promise<void> {
  const existing = await realpath(target).catch(() => null);
  if (existing !== null && existing === (await realpath(checkpoint.directory))) {
    throw new InvalidArgumentError({
      argument: 'target',
      expected: 'a folder other than the source',
      received: target,
    });
  }
}

function planCheckpoint(checkpoint: Checkpoint, rules: RuleTable): Plan {
  const { weights, config } = checkpoint;
  const plan: Plan = { groups: [], quantized: [], requantized: [], plain: [], dropped: [] };
  const isAssistant = config.family === 'gemma4_assistant';
  for (const name of weights.names()) {
    const [, module = '', part] = PARTS.exec(name) ?? [];
    if (part !== undefined && weights.find(`${module}.scales`) !== null) {
      if (part === 'weight') planStored(plan, checkpoint, module, rules, isAssistant);
      continue;
    }
    for (const mlx of toMlxTensors(name, weights.tensor(name), config)) {
      if (mlx.kind === 'dropped') plan.dropped.push(mlx.name);
      else if (mlx.kind === 'matrix') planMatrix(plan, mlx, rules, isAssistant);
      else plan.groups.push(copiedGroup(mlxName(mlx.name, isAssistant), mlx));
    }
  }
  return plan;
}

/** A matrix that the source stores quantised: copied if nothing changes, otherwise quantised again. */
function planStored(
  plan: Plan,
  { weights, config }: Checkpoint,
  module: string,
  rules: RuleTable,
  isAssistant: boolean,
): void {
  const weightName = `${module}.weight`;
  if (isDeadWeight(weightName, config.text.tieWordEmbeddings) || isSharedKeyValue(weightName, config.text)) {
    plan.dropped.push(weightName);
    return;
  }
  // It has scales, so it is not plain.
  const stored = weights.stored(module) as QuantizedTensor;
  const { bits, groupSize, columns } = stored;
  const own = { mode: stored.kind, bits, groupSize } as QuantizationParameters;
  const wanted = rules(module);
  const name = mlxName(module, isAssistant);
  if (wanted === null || !fits(columns, wanted) || isSame(wanted, own)) {
    plan.quantized.push({ module, ...own });
    const arrays = {
      weight: stored.weight,
      scales: stored.scales,
      ...('biases' in stored && { biases: stored.biases }),
    };
    for (const [part, tensor] of Object.entries(arrays)) {
      const copy = { kind: 'copy', name: '', tensor, shape: tensor.shape } as const;
      plan.groups.push(copiedGroup(`${name}.${part}`, copy));
    }
    return;
  }
  plan.quantized.push({ module, ...wanted });
  plan.requantized.push(module);
  const shape = [...stored.weight.shape.slice(0, -1), columns];
  const scaleDtype = stored.kind === 'affine' ? stored.scaleDtype : 'BF16';
  plan.groups.push(quantizedGroup(name, { shape, source: dequantizedRows(stored), scaleDtype }, wanted));
}

/** Columns must be whole groups, and for small floats what the engine decodes together. */
function fits(columns: number, { mode, groupSize }: QuantizationParameters): boolean {
  return columns % (mode === 'affine' ? groupSize : FLOAT_COLUMNS) === 0;
}

function isSame(a: QuantizationParameters, b: QuantizationParameters): boolean {
  return a.mode === b.mode && a.bits === b.bits && a.groupSize === b.groupSize;
}

function planMatrix(
  plan: Plan,
  mlx: Extract<MlxTensor, { kind: 'matrix' }>,
  rules: RuleTable,
  isAssistant: boolean,
): void {
  const { module, source, tensor, shape } = mlx;
  const parameters = rules(module);
  const isQuantizable = isFloatDType(tensor.dtype) && source.rows > 0 && source.columns > 0;
  const name = mlxName(module, isAssistant);
  if (parameters === null || !isQuantizable || !fits(source.columns, parameters)) {
    plan.plain.push(module);
    plan.groups.push(copiedGroup(`${name}.weight`, mlx));
  } else {
    plan.quantized.push({ module, ...parameters });
    const scaleDtype = tensor.dtype as FloatDType;
    plan.groups.push(quantizedGroup(name, { shape, source, scaleDtype }, parameters));
  }
}

/** config.json of the source with `quantization`, and its copy under the name that Hugging Face tools look for. */
async function quantizedConfig(
  checkpoint: Checkpoint,
  plan: Plan,
  options: QuantizeOptions,
): Promise<string> {
  const general = generalParameters(options);
  const { mode, bits, groupSize } = general;
  const path = join(checkpoint.directory, 'config.json');
  const isAssistant = checkpoint.config.family === 'gemma4_assistant';
  const quantization: Record<string, unknown> = { group_size: groupSize, bits, mode };
  for (const own of plan.quantized) {
    if (isSame(own, general)) continue;
    const entry = { group_size: own.groupSize, bits: own.bits };
    // Without a mode, an exception is affine.
    quantization[mlxName(own.module, isAssistant)] =
      own.mode === 'affine' && mode === 'affine' ? entry : { ...entry, mode: own.mode };
  }
  return withJsonEntries(await readText(path, MAX_CONFIG_BYTES), {
    quantization,
    quantization_config: quantization,
  });
}

/** Everything that determines the bytes of the new checkpoint: an earlier run with a different value must not be continued. */
async function fingerprintOf(checkpoint: Checkpoint, options: QuantizeOptions): Promise<string> {
  const paths = new Set(Array.from(checkpoint.weights.entries(), ([, { range }]) => range.path));
  const files = [];
  for (const path of [checkpoint.configPath, ...[...paths].sort()]) {
    files.push(await withFile(path, async (_, identity) => ({ path, ...identity })));
  }
  const { rules, towers, maxShardBytes } = options;
  const general = generalParameters(options);
  return JSON.stringify({ version: 2, ...general, rules, towers, maxShardBytes, files });
}
