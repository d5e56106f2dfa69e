import { CorruptFileError, UnsupportedModelError, WeightMapError } from '@markbase/core';
import {
  ambiguousStorage,
  parametersOf,
  type QuantizationConfig,
  shownParameters,
} from '../config/quantization-config.js';
import { type FloatDType, isFloatDType } from '../quantization/float-conversion.js';
import { FLOAT_COLUMNS, type QuantizationParameters } from '../quantization/quantization-mode.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { similarNames } from './similar-names.js';
import {
  allRows,
  type ExpectedMatrix,
  type PlainMatrix,
  type QuantizedTensor,
  type StorageWarning,
  type StoredMatrix,
  type StoredTensor,
} from './stored-matrix.js';
import { problemOf, type QuantizedArrays, type Reading, readingsOf, shown } from './stored-readings.js';
import { canonicalName, isDeadWeight } from './weight-names.js';

/** The tensors of a checkpoint under canonical names. */
export interface WeightIndex {
  /** The tensor with this full name, such as `language_model.norm.weight`; throws a `WeightMapError` if there is none. */
  tensor(name: string): TensorView;
  /** The tensor with this full name, or null. */
  find(name: string): TensorView | null;
  /**
   * The weight of a linear or an embedding, checked against the expected size.
   *
   * @throws as `stored`; UnsupportedModelError for small floats whose columns are not a multiple of 32, which the engine does not compute
   * with
   */
  matrix(module: string, expected: ExpectedMatrix): StoredMatrix;
  /**
   * The weight of a module in any format, with the tensors that belong to it.
   *
   * config.json applies if the arrays are consistent with it. If they are consistent with exactly one other reading, that
   * one is used and reported in `warnings`.
   *
   * @param expected absent = the size is whatever the arrays and config.json give
   * @throws WeightMapError when it is missing or has another shape; InvalidConfigError when the arrays can be read in several ways, none of which matches config.json
   */
  stored(module: string, expected?: ExpectedMatrix): StoredTensor;
  /** What was noticed about the modules requested so far. */
  warnings(): readonly StorageWarning[];
  /** True when the checkpoint has a weight for this module. */
  hasModule(module: string): boolean;
  /** All names. */
  names(): string[];
  /** All tensors by name; looking at them does not count as requesting them. */
  entries(): Iterable<readonly [name: string, tensor: TensorView]>;
  /** Unrequested names that may be misspellings of missing ones, as `found for missing`, for messages. */
  similar(missing: readonly string[]): string[];
  /** Names that have not been requested, except those that are known to be dead. */
  unused(): string[];
}

/** What a `WeightIndex` is made from. */
export interface WeightIndexFields {
  /** Tensors by the names in the files. */
  readonly tensors: Iterable<TensorView>;
  /** How matrices are quantised; null if none is. */
  readonly quantization: QuantizationConfig | null;
  /** True if the output head is the embedding matrix. */
  readonly tieWordEmbeddings: boolean;
  /** Path of config.json, for messages. */
  readonly configPath: string;
  /** `model_type`, for messages. */
  readonly modelType?: string;
  /** Called once for each module, when it is first requested. */
  onWarning?(warning: StorageWarning): void;
}

/** Fewest bits of the per-layer embedding that are known to be good. */
const MIN_PER_LAYER_BITS = 8;

/** Builds the index; two names that mean the same tensor are a `CorruptFileError`. */
export function createWeightIndex(fields: WeightIndexFields): WeightIndex {
  return new CanonicalWeightIndex(fields);
}

class CanonicalWeightIndex implements WeightIndex {
  private readonly byName = new Map<string, TensorView>();
  private readonly used = new Set<string>();
  private readonly noticed = new Map<string, StorageWarning>();

  constructor(private readonly fields: WeightIndexFields) {
    for (const tensor of fields.tensors) {
      const name = canonicalName(tensor.name);
      const other = this.byName.get(name);
      if (other !== undefined) {
        throw new CorruptFileError({
          rule: 'DuplicateKey',
          path: tensor.range.path,
          reason: `the tensors "${other.name}" and "${tensor.name}" both mean ${name}`,
        });
      }
      this.byName.set(name, tensor);
    }
  }

  tensor(name: string): TensorView {
    const tensor = this.find(name);
    if (tensor === null) throw new WeightMapError({ missing: [name] });
    return tensor;
  }

  find(name: string): TensorView | null {
    const tensor = this.byName.get(name);
    if (tensor === undefined) return null;
    this.used.add(name);
    return tensor;
  }

  hasModule(module: string): boolean {
    return this.byName.has(`${module}.weight`) || this.byName.has(module);
  }

  names(): string[] {
    return [...this.byName.keys()];
  }

  entries(): Iterable<readonly [string, TensorView]> {
    return this.byName.entries();
  }

  similar(missing: readonly string[]): string[] {
    return similarNames(missing, this.unused());
  }

  unused(): string[] {
    const { tieWordEmbeddings } = this.fields;
    return this.names().filter((name) => !this.used.has(name) && !isDeadWeight(name, tieWordEmbeddings));
  }

  matrix(module: string, expected: ExpectedMatrix): StoredMatrix {
    const stored = this.stored(module, expected);
    const isUsable =
      stored.kind === 'plain' || stored.kind === 'affine' || stored.columns % FLOAT_COLUMNS === 0;
    if (isUsable) return stored;
    throw this.unsupported(
      `${module} is stored as ${stored.kind} with ${stored.columns} columns, and the engine takes multiples of ${FLOAT_COLUMNS}; ` +
        'convert the original checkpoint with "markbase quantize", which leaves such a matrix plain',
    );
  }

  stored(module: string, expected?: ExpectedMatrix): StoredTensor {
    // Fused experts of the Hugging Face layout have no ".weight".
    const weight = this.find(`${module}.weight`) ?? this.find(module);
    if (weight === null) throw new WeightMapError({ missing: [`${module}.weight`] });
    const scales = this.find(`${module}.scales`);
    if (scales === null && weight.dtype === 'U32')
      throw new WeightMapError({ missing: [`${module}.scales`] });
    if (scales === null) return plainMatrix(weight, expected);
    const globalScale = this.find(`${module}.global_scale`);
    if (globalScale !== null) {
      throw this.unsupported(
        `${globalScale.name} is a global scale, which is supported only if it is folded into the scales; ` +
          'convert the original checkpoint with "markbase quantize --mode nvfp4"',
      );
    }
    const biases = this.find(`${module}.biases`);
    if (biases === null && isFloatDType(scales.dtype)) {
      throw new WeightMapError({ missing: [`${module}.biases`] });
    }
    return this.quantized(module, { weight, scales, biases }, expected);
  }

  warnings(): readonly StorageWarning[] {
    return [...this.noticed.values()];
  }

  private unsupported(reason: string): UnsupportedModelError {
    return new UnsupportedModelError({ modelType: this.fields.modelType ?? '', reason });
  }

  private quantized(module: string, arrays: QuantizedArrays, expected?: ExpectedMatrix): QuantizedTensor {
    const { weight } = arrays;
    const readings = readingsOf(arrays, expected?.columns ?? null);
    const reading = this.chosenReading(module, readings);
    const words = weight.shape.at(-1)!;
    if (reading === null || (expected !== undefined && !hasShape(weight, expected, words))) {
      const size = expected === undefined ? 'a matrix' : shownShape(expected, expected.columns);
      const hasReading = reading !== null;
      const problem = hasReading ? `${shown(weight)}, expected ${size} packed into U32` : null;
      throw new WeightMapError({
        mismatched: [problem ?? problemOf(arrays, size, expected?.columns ?? null)],
      });
    }
    const rows = expected === undefined ? weight.elementCount / words : allRows(expected);
    return quantizedTensor(arrays, reading, rows);
  }

  /** The reading that config.json names, else the only one possible; null if there is none. */
  private chosenReading(module: string, readings: readonly Reading[]): Reading | null {
    const { quantization, configPath } = this.fields;
    const said = quantization === null ? null : parametersOf(quantization, module);
    const [only, ...others] = readings;
    if (only === undefined) return null;
    const agreed = said === null ? undefined : readings.find((reading) => isSame(reading, said));
    if (agreed === undefined && others.length > 0) throw ambiguousStorage(configPath, module, readings, said);
    const taken = agreed ?? only;
    if (agreed === undefined) {
      const says = said === null ? 'does not call it quantised' : `says ${shownParameters(said)}`;
      this.notice(
        module,
        'stored-otherwise',
        said,
        taken,
        `is ${shownParameters(taken)}, although ${configPath} ${says}`,
      );
    } else if (module.endsWith('.embed_tokens_per_layer') && taken.bits < MIN_PER_LAYER_BITS) {
      const advice = `the per-layer embedding has ${taken.bits} bits; below ${MIN_PER_LAYER_BITS} bits, answers are known to be poor`;
      this.notice(module, 'low-bits', said, taken, advice);
    }
    return taken;
  }

  private notice(
    module: string,
    kind: StorageWarning['kind'],
    said: QuantizationParameters | null,
    reading: Reading,
    text: string,
  ): void {
    const { mode, bits, groupSize } = reading;
    const taken = { mode, bits, groupSize } as QuantizationParameters;
    const warning = { module, kind, said, taken, message: `${module}: ${text}` };
    if (!this.noticed.has(module)) this.fields.onWarning?.(warning);
    this.noticed.set(module, warning);
  }
}

function isSame(a: QuantizationParameters, b: QuantizationParameters): boolean {
  return a.mode === b.mode && a.bits === b.bits && a.groupSize === b.groupSize;
}

function quantizedTensor(
  { weight, scales, biases }: QuantizedArrays,
  reading: Reading,
  rows: number,
): QuantizedTensor {
  const { columns } = reading;
  if (reading.mode !== 'affine') {
    const { mode, bits, groupSize } = reading;
    return { kind: mode, rows, columns, bits, groupSize, weight, scales };
  }
  const { bits, groupSize } = reading;
  const scaleDtype = scales.dtype as FloatDType;
  return { kind: 'affine', rows, columns, bits, groupSize, scaleDtype, weight, scales, biases: biases! };
}

function plainMatrix(weight: TensorView, expected?: ExpectedMatrix): PlainMatrix {
  if (!isFloatDType(weight.dtype)) mismatch(weight, 'BF16, F16 or F32, as it has no scales');
  const dtype = weight.dtype as FloatDType;
  if (expected === undefined) {
    const columns = weight.shape.at(-1);
    if (columns === undefined || weight.shape.length < 2) return mismatch(weight, 'a matrix');
    const rows = columns === 0 ? 0 : weight.elementCount / columns;
    return { kind: 'plain', rows, columns, dtype, weight };
  }
  if (!hasShape(weight, expected, expected.columns)) mismatch(weight, shownShape(expected, expected.columns));
  return { kind: 'plain', rows: allRows(expected), columns: expected.columns, dtype, weight };
}

/** True for [rows, columns], and for [e, r, columns] with e * r = rows or with the expected experts. */
function hasShape(tensor: TensorView, expected: ExpectedMatrix, columns: number): boolean {
  const { shape } = tensor;
  if (shape.at(-1) !== columns) return false;
  if (expected.experts !== undefined) {
    return shape.length === 3 && shape[0] === expected.experts && shape[1] === expected.rows;
  }
  return (shape.length === 2 || shape.length === 3) && tensor.elementCount === expected.rows * columns;
}

function shownShape({ experts, rows }: ExpectedMatrix, columns: number): string {
  return experts === undefined ? `[${rows}, ${columns}]` : `[${experts}, ${rows}, ${columns}]`;
}

function mismatch(tensor: TensorView, expected: string): never {
  throw new WeightMapError({ mismatched: [`${shown(tensor)}, expected ${expected}`] });
}
