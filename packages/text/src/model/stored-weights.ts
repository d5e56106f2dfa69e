import { type DType, WeightMapError } from '@markbase/core';
import type { StoredMatrix, TensorView, WeightIndex } from '@markbase/loader';
import type { Axis, Device, DeviceBuffer, FloatType, Matrix, Vector } from '@markbase/metal-runtime';

/** Stands in for a buffer that could not be mapped, until `finish` throws. */
const ABSENT: DeviceBuffer = { sizeBytes: 0, dispose() {}, [Symbol.dispose]() {} };

/** Maps tensors of a checkpoint onto a device, and collects everything that is missing or wrong into one error. */
export interface StoredWeights {
  /** Matrix [Out, In] of a linear or embedding module. */
  matrix<Out extends Axis, In extends Axis>(module: string, rows: number, columns: number): Matrix<Out, In>;
  /** Vector [A]: the tensor of this full name. */
  vector<A extends Axis>(name: string, length: number): Vector<A>;
  /** Value of a tensor [1], read now. */
  scalar(name: string): Promise<number>;
  /** @throws WeightMapError with everything that was missing or wrong. */
  finish(): void;
  /** Frees what was mapped. */
  dispose(): void;
}

/** Opens the tensors of `index` for mapping onto `device`. */
export function storedWeights(index: WeightIndex, device: Device): StoredWeights {
  const missing: string[] = [];
  const mismatched: string[] = [];
  const buffers: DeviceBuffer[] = [];

  function map(tensor: TensorView): DeviceBuffer {
    const buffer = device.map(tensor.range);
    buffers.push(buffer);
    return buffer;
  }

  /** Result of `read`, or null after noting what is wrong with the tensor. */
  function attempt<Result>(read: () => Result): Result | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WeightMapError)) throw error;
      missing.push(...error.missing);
      mismatched.push(...error.mismatched);
      return null;
    }
  }

  function floats(name: string, length: number): { tensor: TensorView; dtype: FloatType } | null {
    const tensor = attempt(() => index.tensor(name));
    if (tensor && isFloatType(tensor.dtype) && tensor.shape.length === 1 && tensor.shape[0] === length) {
      return { tensor, dtype: tensor.dtype };
    }
    if (tensor) {
      mismatched.push(`${name} is ${tensor.dtype} [${tensor.shape}], expected BF16, F16 or F32 [${length}]`);
    }
    return null;
  }

  return {
    matrix(module, rows, columns) {
      const stored = attempt(() => index.matrix(module, { rows, columns }));
      if (!stored) return { kind: 'plain', dtype: 'F32', rows, columns, weight: ABSENT };
      return toMatrix(stored, map);
    },
    vector(name, length) {
      const found = floats(name, length);
      return { length, dtype: found?.dtype ?? 'F32', data: found ? map(found.tensor) : ABSENT };
    },
    async scalar(name) {
      const found = floats(name, 1);
      return found ? (await found.tensor.readFloat32())[0]! : Number.NaN;
    },
    finish() {
      if (missing.length > 0 || mismatched.length > 0) throw new WeightMapError({ missing, mismatched });
    },
    dispose() {
      for (const buffer of buffers) buffer.dispose();
    },
  };
}

/** Type in which the numbers of a matrix are stored: of the weights, or of the scales when it is quantised. */
export function floatTypeOf(matrix: Matrix<Axis, Axis>): FloatType {
  return matrix.kind === 'plain' ? matrix.dtype : matrix.scaleDtype;
}

function toMatrix<Out extends Axis, In extends Axis>(
  stored: StoredMatrix,
  map: (tensor: TensorView) => DeviceBuffer,
): Matrix<Out, In> {
  const { rows, columns } = stored;
  const weight = map(stored.weight);
  if (stored.kind === 'plain') return { kind: 'plain', rows, columns, dtype: stored.dtype, weight };
  const { bits, groupSize, scaleDtype } = stored;
  const parameters = { scales: map(stored.scales), biases: map(stored.biases) };
  return { kind: 'affine', rows, columns, bits, groupSize, scaleDtype, weight, ...parameters };
}

function isFloatType(dtype: DType): dtype is FloatType {
  return dtype === 'BF16' || dtype === 'F16' || dtype === 'F32';
}
