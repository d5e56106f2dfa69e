import { realpath } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import { COPIED_FILES } from '../checkpoint/companion-files.js';
import { type Checkpoint, openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { hasSeparateHead, separateHeadError } from '../checkpoint/tied-head.js';
import { mlxName } from '../checkpoint/weight-names.js';
import type { AffineParameters } from '../config/quantization-config.js';
import { withFile } from '../files/file-access.js';
import { withJsonEntries } from '../files/json-entries.js';
import { readText } from '../files/read-json.js';
import { MAX_CONFIG_BYTES } from '../limits.js';
import type { TensorGroup } from '../safetensors/tensor-group.js';
import { isFloatDType } from './float-conversion.js';
import { type MlxTensor, toMlxTensors } from './mlx-tensors.js';
import { copiedGroup, quantizedGroup } from './quantize-group.js';
import {
  compileRules,
  DEFAULT_QUANTIZE_RULES,
  KEEP_TOWERS_RULES,
  type QuantizeRule,
  type RuleTable,
} from './quantize-rules.js';
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
  /** General width of a code: 2, 3, 4, 5, 6 or 8. */
  readonly bits: number;
  /** General group size: 32, 64 or 128. */
  readonly groupSize: number;
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
  /** The quantised modules, each with its bits and group size. */
  readonly quantized: readonly ({ readonly module: string } & AffineParameters)[];
  /** Matrices that were copied: skipped by a rule, or with a number of columns that is not a multiple of the group size. */
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

/** The new checkpoint before anything is written. */
interface Plan {
  readonly groups: TensorGroup[];
  readonly quantized: ({ module: string } & AffineParameters)[];
  readonly plain: string[];
  readonly dropped: string[];
}

/**
 * Converts a checkpoint of plain weights into the MLX layout, with affine-quantised matrices.
 *
 * Tensors are renamed, convolutions become channel-last, fused experts are split, keys and values that no layer uses and
 * the copy of a tied head are dropped. config.json gets `quantization` with every exception, and the tokenizer and
 * processor files are copied. Memory use does not depend on the size of the model. Nothing appears under its name before
 * all weights are complete. After a failure or an abort no new file is left, unless `resume` is set: then the hidden
 * working folder stays, as it does when the process is killed, and the next run with `resume` continues from there.
 *
 * @param source a checkpoint folder, as for `openCheckpoint`
 * @param target folder of the new checkpoint; created when missing, never the source itself
 * @throws InvalidArgumentError for wrong options or a source that is already quantised; the errors of `openCheckpoint`
 * and `writeSafetensors`; the signal's reason
 */
export async function quantizeCheckpoint(
  source: string,
  target: string,
  options: QuantizeOptions,
): Promise<QuantizeReport> {
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
  const { quantized, plain, dropped } = plan;
  const { sizeBytes: targetBytes } = await openCheckpoint(directory);
  const { sizeBytes: sourceBytes } = checkpoint;
  return { directory, quantized, plain, dropped, sourceBytes, targetBytes, resumedBytes };
}

function rulesOf({ rules = [], towers = 'keep' }: QuantizeOptions): QuantizeRule[] {
  return [...rules, ...(towers === 'keep' ? KEEP_TOWERS_RULES : []), ...DEFAULT_QUANTIZE_RULES];
}

async function checkPlaces(checkpoint: Checkpoint, target: string): Promise<void> {
  if (checkpoint.quantization !== null) {
    throw new InvalidArgumentError({
      argument: 'source',
      expected: 'a checkpoint with plain weights',
      received: `${checkpoint.directory}, which is quantised`,
    });
  }
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
  const plan: Plan = { groups: [], quantized: [], plain: [], dropped: [] };
  const isAssistant = config.family === 'gemma4_assistant';
  for (const name of weights.names()) {
    for (const mlx of toMlxTensors(name, weights.tensor(name), config)) {
      if (mlx.kind === 'dropped') plan.dropped.push(mlx.name);
      else if (mlx.kind === 'matrix') planMatrix(plan, mlx, rules, isAssistant);
      else plan.groups.push(copiedGroup(mlxName(mlx.name, isAssistant), mlx));
    }
  }
  return plan;
}

function planMatrix(
  plan: Plan,
  mlx: Extract<MlxTensor, { kind: 'matrix' }>,
  rules: RuleTable,
  isAssistant: boolean,
): void {
  const { module, source, tensor } = mlx;
  const parameters = rules(module);
  const isQuantizable = isFloatDType(tensor.dtype) && source.rows > 0 && source.columns > 0;
  const name = mlxName(module, isAssistant);
  if (parameters === null || !isQuantizable || source.columns % parameters.groupSize !== 0) {
    plan.plain.push(module);
    plan.groups.push(copiedGroup(`${name}.weight`, mlx));
  } else {
    plan.quantized.push({ module, ...parameters });
    plan.groups.push(quantizedGroup(name, mlx, parameters));
  }
}

/** config.json of the source with `quantization`, and its copy under the name that Hugging Face tools look for. */
async function quantizedConfig(
  checkpoint: Checkpoint,
  plan: Plan,
  { bits, groupSize }: QuantizeOptions,
): Promise<string> {
  const path = join(checkpoint.directory, 'config.json');
  const isAssistant = checkpoint.config.family === 'gemma4_assistant';
  const quantization: Record<string, unknown> = { group_size: groupSize, bits, mode: 'affine' };
  for (const own of plan.quantized) {
    if (own.bits === bits && own.groupSize === groupSize) continue;
    quantization[mlxName(own.module, isAssistant)] = { group_size: own.groupSize, bits: own.bits };
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
  const { bits, groupSize, rules, towers, maxShardBytes } = options;
  return JSON.stringify({ version: 1, bits, groupSize, rules, towers, maxShardBytes, files });
}
