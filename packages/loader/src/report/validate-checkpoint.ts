import { checkOptionNames, MarkBaseError, type OptionNames, WeightMapError } from '@markbase/core';
import type { Finding } from '../checkpoint/finding.js';
import { type Checkpoint, openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { isSharedKeyValue } from '../checkpoint/weight-names.js';
import { toFloat32 } from '../quantization/float-conversion.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { expectedModules } from './expected-modules.js';
import { ignoredFindings } from './ignored-findings.js';

/** Everything that `validateCheckpoint` found. */
export interface ValidationReport {
  /** True if there is no finding of severity `error`. */
  readonly isValid: boolean;
  /** What was found, in the order of the checks. */
  readonly findings: readonly Finding[];
  /** Number of tensors in all files. */
  readonly tensorCount: number;
  /** Bytes of all tensors. */
  readonly sizeBytes: number;
  /** Tensors whose values were checked. */
  readonly readTensorCount: number;
}

/** Options of `validateCheckpoint`. */
export interface ValidateOptions {
  /** Also reads every tensor of floats and looks for NaN and infinity. */
  readonly values?: boolean;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Called while tensors are read. */
  onProgress?(progress: { readonly doneBytes: number; readonly totalBytes: number }): void;
}

/** Types with NaN or infinity; the floats of 4 and 6 bits have neither. */
const CAN_BE_INFINITE = /^(?:BF16|F16|F32|F64|F8_)/;

const OPTIONS: OptionNames<ValidateOptions> = { values: true, signal: true, onProgress: true };

/**
 * Checks a checkpoint folder completely: its config, every header, and every tensor that the decoder needs, in shape and
 * in the way it is quantised. Unlike `openCheckpoint` it reports everything that it finds instead of the first error.
 *
 * @throws the signal's reason; everything else is in the report
 */
export async function validateCheckpoint(
  directory: string,
  options: ValidateOptions = {},
): Promise<ValidationReport> {
  checkOptionNames(options, OPTIONS);
  let checkpoint: Checkpoint;
  try {
    checkpoint = await openCheckpoint(directory, { signal: options.signal });
  } catch (error) {
    options.signal?.throwIfAborted();
    return reportOf([errorFinding(error, directory)], 0, 0, 0);
  }
  const findings = [
    ...checkpoint.findings,
    ...weightFindings(checkpoint),
    ...fileFindings(checkpoint),
    ...(await ignoredFindings(checkpoint, options.signal)),
  ];
  const tensors = Array.from(checkpoint.weights.entries());
  const readTensorCount = options.values
    ? await readValues(
        tensors.map(([, tensor]) => tensor),
        checkpoint.sizeBytes,
        options,
        findings,
      )
    : 0;
  return reportOf(findings, tensors.length, checkpoint.sizeBytes, readTensorCount);
}

function reportOf(
  findings: readonly Finding[],
  tensorCount: number,
  sizeBytes: number,
  readTensorCount: number,
): ValidationReport {
  const isValid = findings.every(({ level }) => level !== 'error');
  return { isValid, findings, tensorCount, sizeBytes, readTensorCount };
}

/** Requests everything that the decoder needs, and reports what is left over. */
function weightFindings({ config, weights }: Checkpoint): Finding[] {
  const findings: Finding[] = [];
  const missing: string[] = [];
  for (const expected of expectedModules(config, weights)) {
    const subject = expected.kind === 'matrix' ? expected.module : expected.name;
    try {
      if (expected.kind === 'matrix') {
        weights.matrix(expected.module, expected);
        continue;
      }
      const { elementCount, shape } = weights.tensor(expected.name);
      if (elementCount === expected.length) continue;
      throw new WeightMapError({
        mismatched: [`${expected.name} is [${shape.join(', ')}], expected [${expected.length}]`],
      });
    } catch (error) {
      if (error instanceof WeightMapError) missing.push(...error.missing);
      findings.push(errorFinding(error, subject));
    }
  }
  for (const similar of weights.similar(missing)) {
    const message = `a tensor may have a wrong name: ${similar}`;
    findings.push({ level: 'warning', code: 'SIMILAR_NAME', subject: similar, message });
  }
  for (const { module, kind, message } of weights.warnings()) {
    const code = kind === 'low-bits' ? 'LOW_BITS' : 'STORED_OTHERWISE';
    findings.push({ level: 'warning', code, subject: module, message });
  }
  for (const name of weights.unused()) {
    if (!name.startsWith('language_model.') || isSharedKeyValue(name, config.text)) continue;
    const message = `${name}: nothing in the decoder reads this tensor`;
    findings.push({ level: 'warning', code: 'UNUSED', subject: name, message });
  }
  return findings;
}

function fileFindings({ files, directory }: Checkpoint): Finding[] {
  if (files.tokenizer !== null) return [];
  const message = `${directory}: tokenizer.json is missing, so text cannot be encoded`;
  return [{ level: 'warning', code: 'NO_TOKENIZER', subject: 'tokenizer.json', message }];
}

async function readValues(
  tensors: readonly TensorView[],
  totalBytes: number,
  options: ValidateOptions,
  findings: Finding[],
): Promise<number> {
  let doneBytes = 0;
  let count = 0;
  for (const tensor of tensors) {
    if (CAN_BE_INFINITE.test(tensor.dtype)) {
      count++;
      const bad = await countNonFinite(tensor, options.signal);
      if (bad > 0) {
        const message = `${tensor.name}: ${bad} of ${tensor.elementCount} values are NaN or infinite`;
        findings.push({ level: 'error', code: 'NON_FINITE', subject: tensor.name, message });
      }
    }
    doneBytes += tensor.range.sizeBytes;
    options.onProgress?.({ doneBytes, totalBytes });
  }
  return count;
}

async function countNonFinite(tensor: TensorView, signal: AbortSignal | undefined): Promise<number> {
  let bad = 0;
  for await (const bytes of tensor.chunks()) {
    signal?.throwIfAborted();
    for (const value of toFloat32(bytes, tensor.dtype)) if (!Number.isFinite(value)) bad++;
  }
  return bad;
}

function errorFinding(error: unknown, subject: string): Finding {
  if (!MarkBaseError.isInstance(error)) throw error;
  return { level: 'error', code: error.code, subject, message: error.message };
}
