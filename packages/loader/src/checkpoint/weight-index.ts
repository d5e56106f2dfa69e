import { CorruptFileError, WeightMapError } from '@markbase/core';
import { parametersOf, type QuantizationConfig, storedOtherwise } from '../config/quantization-config.js';
import {
  type AffineBits,
  type AffineGroupSize,
  isAffineBits,
  isAffineGroupSize,
} from '../quantization/affine-codec.js';
import { type FloatDType, isFloatDType } from '../quantization/float-conversion.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { canonicalName, isDeadWeight } from './weight-names.js';

/** What a caller expects of a matrix: [rows, columns], or [experts, rows, columns]. */
export interface ExpectedMatrix {
  readonly rows: number;
  readonly columns: number;
  /** Length of a leading expert axis; absent = none, or one that `rows` counts in. */
  readonly experts?: number;
}

/** A matrix [rows, columns] as it lies in the file. `rows` counts all rows, over all experts. */
export type StoredMatrix =
  | {
      readonly kind: 'plain';
      readonly rows: number;
      readonly columns: number;
      readonly dtype: FloatDType;
      readonly weight: TensorView;
    }
  | {
      readonly kind: 'affine';
      readonly rows: number;
      readonly columns: number;
      readonly bits: AffineBits;
      readonly groupSize: AffineGroupSize;
      readonly scaleDtype: FloatDType;
      readonly weight: TensorView;
      readonly scales: TensorView;
      readonly biases: TensorView;
    };

/** The tensors of a checkpoint under canonical names. */
export interface WeightIndex {
  /** The tensor with this full name, such as `language_model.norm.weight`; throws a `WeightMapError` without one. */
  tensor(name: string): TensorView;
  /** The tensor with this full name, or null. */
  find(name: string): TensorView | null;
  /**
   * The weight of a linear or an embedding, plain or affine-quantised, checked against the expected size.
   *
   * @throws WeightMapError when it is missing or has another shape; InvalidConfigError when it is stored with other
   * bits or another group size than config.json says
   */
  matrix(module: string, expected: ExpectedMatrix): StoredMatrix;
  /** True when the checkpoint has a weight for this module. */
  hasModule(module: string): boolean;
  /** All names. */
  names(): string[];
  /** All tensors by name; looking at them does not count as asking for them. */
  entries(): Iterable<readonly [name: string, tensor: TensorView]>;
  /** Names that nobody asked for, without those that are known to be dead. */
  unused(): string[];
}

/** What a `WeightIndex` is made from. */
export interface WeightIndexFields {
  /** Tensors by the names in the files. */
  readonly tensors: Iterable<TensorView>;
  readonly quantization: QuantizationConfig | null;
  readonly tieWordEmbeddings: boolean;
  /** Path of config.json, for messages. */
  readonly configPath: string;
}

/** Builds the index; two names that mean the same tensor are a `CorruptFileError`. */
export function createWeightIndex(fields: WeightIndexFields): WeightIndex {
  return new CanonicalWeightIndex(fields);
}

class CanonicalWeightIndex implements WeightIndex {
  private readonly byName = new Map<string, TensorView>();
  private readonly used = new Set<string>();

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

  unused(): string[] {
    const { tieWordEmbeddings } = this.fields;
    return this.names().filter((name) => !this.used.has(name) && !isDeadWeight(name, tieWordEmbeddings));
  }

  matrix(module: string, expected: ExpectedMatrix): StoredMatrix {
    // Fused experts of the Hugging Face layout have no ".weight".
    const weight = this.find(`${module}.weight`) ?? this.find(module);
    if (weight === null) throw new WeightMapError({ missing: [`${module}.weight`] });
    const scales = this.find(`${module}.scales`);
    return scales === null
      ? plainMatrix(weight, expected)
      : this.affineMatrix(module, weight, scales, expected);
  }

  private affineMatrix(
    module: string,
    weight: TensorView,
    scales: TensorView,
    expected: ExpectedMatrix,
  ): StoredMatrix {
    const { quantization, configPath } = this.fields;
    const biases = this.find(`${module}.biases`);
    if (biases === null) throw new WeightMapError({ missing: [`${module}.biases`] });
    const stored = storedParameters(weight, scales, biases, expected);
    const said = quantization === null ? null : parametersOf(quantization, module);
    if (said === null) {
      const how = `an object with bits ${stored.bits} and group_size ${stored.groupSize}, as the file is quantised`;
      throw storedOtherwise(configPath, module, 'quantization', how, quantization === null ? null : false);
    }
    if (said.bits !== stored.bits) {
      throw storedOtherwise(configPath, module, 'bits', `${stored.bits}, as the tensor is stored`, said.bits);
    }
    if (said.groupSize !== stored.groupSize) {
      const how = `${stored.groupSize}, as the scales are stored`;
      throw storedOtherwise(configPath, module, 'group_size', how, said.groupSize);
    }
    const { columns } = expected;
    return { kind: 'affine', rows: allRows(expected), columns, ...stored, weight, scales, biases };
  }
}

function plainMatrix(weight: TensorView, expected: ExpectedMatrix): StoredMatrix {
  if (!isFloatDType(weight.dtype)) mismatch(weight, 'BF16, F16 or F32, as it has no scales');
  if (!hasShape(weight, expected, expected.columns)) mismatch(weight, shownShape(expected, expected.columns));
  return {
    kind: 'plain',
    rows: allRows(expected),
    columns: expected.columns,
    dtype: weight.dtype as FloatDType,
    weight,
  };
}

/** Bits and group size that the three arrays have, given the number of columns that they stand for. */
function storedParameters(
  weight: TensorView,
  scales: TensorView,
  biases: TensorView,
  expected: ExpectedMatrix,
): { bits: AffineBits; groupSize: AffineGroupSize; scaleDtype: FloatDType } {
  const { columns } = expected;
  const bits = (32 * (weight.shape.at(-1) ?? 0)) / columns;
  const groupSize = columns / (scales.shape.at(-1) ?? 0);
  if (weight.dtype !== 'U32') mismatch(weight, 'U32, as it has scales');
  if (!isAffineBits(bits) || !hasShape(weight, expected, (columns * bits) / 32)) {
    return mismatch(weight, `${shownShape(expected, columns)} packed into U32`);
  }
  if (!isAffineGroupSize(groupSize) || !hasShape(scales, expected, columns / groupSize)) {
    return mismatch(scales, `one scale for 32, 64 or 128 columns of ${shownShape(expected, columns)}`);
  }
  if (!hasShape(biases, expected, columns / groupSize)) {
    return mismatch(biases, shownShape(expected, columns / groupSize));
  }
  const { dtype } = scales;
  if (!isFloatDType(dtype)) return mismatch(scales, 'BF16, F16 or F32');
  if (biases.dtype !== dtype) return mismatch(biases, `${dtype}, as its scales`);
  return { bits, groupSize, scaleDtype: dtype };
}

function allRows({ experts = 1, rows }: ExpectedMatrix): number {
  return experts * rows;
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
  const { name, dtype, shape } = tensor;
  throw new WeightMapError({
    mismatched: [`${name} is ${dtype} [${shape.join(', ')}], expected ${expected}`],
  });
}
