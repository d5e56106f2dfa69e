import { type ByteRange, type DType, WeightMapError } from '@markbase/core';
import type { Axis } from './axes.js';
import type { Device } from './device.js';
import type { DeviceBuffer } from './device-buffer.js';
import type { FloatType, Matrix, SmallFloatKind, Vector } from './weights.js';

/** A tensor of a checkpoint; compatible with the loader's `TensorView`. */
export interface SourceTensor {
  /** Element type in the file. */
  readonly dtype: DType;
  /** Sizes of the axes. */
  readonly shape: readonly number[];
  /** The bytes of the tensor in its file. */
  readonly range: ByteRange;
  /** Reads the tensor and converts it to float32. */
  readFloat32(): Promise<Float32Array>;
}

interface SourceShape {
  readonly rows: number;
  readonly columns: number;
}

/** An unquantised matrix of a checkpoint. */
export interface SourcePlainMatrix<Tensor extends SourceTensor> extends SourceShape {
  readonly kind: 'plain';
  /** Element type of the weights. */
  readonly dtype: FloatType;
  /** The weights [Out, In]. */
  readonly weight: Tensor;
}

type Affine = Extract<Matrix<Axis, Axis>, { kind: 'affine' }>;
type AffineFormat = Pick<Affine, 'bits' | 'groupSize' | 'scaleDtype'>;

/** A matrix of a checkpoint; compatible with the loader's `StoredMatrix`. */
export type SourceMatrix<Tensor extends SourceTensor> =
  | SourcePlainMatrix<Tensor>
  | (SourceShape &
      AffineFormat & {
        readonly kind: 'affine';
        /** The packed codes. */
        readonly weight: Tensor;
        /** A scale per row and group. */
        readonly scales: Tensor;
        /** A bias per row and group. */
        readonly biases: Tensor;
      })
  | (SourceShape & { readonly kind: SmallFloatKind; readonly weight: Tensor; readonly scales: Tensor });

/** Where a mapper finds tensors; compatible with the loader's `WeightIndex`. A missing tensor is a `WeightMapError`. */
export interface WeightSource<Tensor extends SourceTensor> {
  /** The tensor of this name. */
  tensor(name: string): Tensor;
  /** The matrix of this module, in the way it is stored. */
  matrix(module: string, expected: SourceShape & { readonly experts?: number }): SourceMatrix<Tensor>;
  /** Names that may be misspellings of missing ones, for the message of the error. */
  similar?(missing: readonly string[]): readonly string[];
}

/** Quantises a plain matrix; null leaves it unchanged. */
export type QuantizeOnLoad<Tensor extends SourceTensor> = (matrix: SourcePlainMatrix<Tensor>) => Promise<
  | (AffineFormat & {
      readonly weight: Uint8Array;
      readonly scales: Uint8Array;
      readonly biases: Uint8Array;
    })
  | null
>;

/** Replaces a buffer that could not be mapped, until `finish` throws. */
const ABSENT: DeviceBuffer = { sizeBytes: 0, dispose() {}, [Symbol.dispose]() {} };

/** Maps tensors of a checkpoint onto a device, collecting all missing and invalid ones into one error. */
export class WeightMapper<Tensor extends SourceTensor = SourceTensor> {
  readonly #source: WeightSource<Tensor>;
  readonly #device: Device;
  readonly #quantize: QuantizeOnLoad<Tensor> | null;
  readonly #buffers: DeviceBuffer[] = [];
  readonly #missing: string[] = [];
  readonly #mismatched: string[] = [];
  readonly #matrices = new Map<string, Matrix<Axis, Axis>>();

  constructor(source: WeightSource<Tensor>, device: Device, quantize: QuantizeOnLoad<Tensor> | null = null) {
    this.#source = source;
    this.#device = device;
    this.#quantize = quantize;
  }

  /**
   * Matrix [Out, In] of a linear or embedding module, mapped as stored.
   *
   * @param experts length of a leading axis; the matrix then contains the rows of all experts
   */
  mapped<Out extends Axis, In extends Axis>(
    module: string,
    rows: number,
    columns: number,
    experts?: number,
  ): Matrix<Out, In> {
    const matrix = this.#mapMatrix<Out, In>(this.#stored(module, rows, columns, experts), rows, columns);
    this.#matrices.set(module, matrix);
    return matrix;
  }

  /** Matrix [Out, In] of a linear module: quantised and uploaded if the mapper quantises it, else mapped. */
  async matrix<Out extends Axis, In extends Axis>(
    module: string,
    rows: number,
    columns: number,
  ): Promise<Matrix<Out, In>> {
    const stored = this.#stored(module, rows, columns);
    const made = stored?.kind === 'plain' ? await this.#quantize?.(stored) : null;
    if (!made) return this.#mapMatrix(stored, rows, columns);
    const { bits, groupSize, scaleDtype } = made;
    return {
      ...{ kind: 'affine', rows, columns, bits, groupSize, scaleDtype },
      weight: this.upload(made.weight, module),
      scales: this.upload(made.scales, module),
      biases: this.upload(made.biases, module),
    };
  }

  /** What `mapped` has returned so far, by module. */
  get matrices(): ReadonlyMap<string, Matrix<Axis, Axis>> {
    return this.#matrices;
  }

  /** Rows of an embedding table: the tensor with this full name, mapped; all axes but the last form its rows. */
  table<A extends Axis>(name: string, shape: readonly number[]): Matrix<'V', A> {
    const tensor = this.#floats(name, shape);
    const columns = shape.at(-1)!;
    const rows = shape.reduce((product, length) => product * length, 1) / columns;
    const dtype = (tensor?.dtype ?? 'F32') as FloatType;
    return { kind: 'plain', dtype, rows, columns, weight: tensor ? this.#map(tensor) : ABSENT };
  }

  /** Vector [A]: the tensor with this full name, mapped. */
  vector<A extends Axis>(name: string, length: number): Vector<A> {
    const tensor = this.#floats(name, [length]);
    if (!tensor) return { length, dtype: 'F32', data: ABSENT };
    return { length, dtype: tensor.dtype as FloatType, data: this.#map(tensor) };
  }

  /**
   * The numbers of a tensor, read immediately; zeros if it is missing or invalid.
   *
   * @param shapes the allowed shapes: different shapes of the same numbers in the same order, or layouts to distinguish
   */
  async numbers(
    name: string,
    ...shapes: readonly (readonly number[])[]
  ): Promise<{ values: Float32Array; shape: readonly number[] }> {
    const tensor = this.#floats(name, ...shapes);
    if (tensor) return { values: await tensor.readFloat32(), shape: tensor.shape };
    const [shape = []] = shapes;
    return { values: new Float32Array(shape.reduce((product, length) => product * length, 1)), shape };
  }

  /** Vector [A] of computed numbers, in float32. */
  uploadVector<A extends Axis>(values: Float32Array, label: string): Vector<A> {
    return { length: values.length, dtype: 'F32', data: this.uploadFloats(values, label) };
  }

  /** A buffer of computed numbers, in float32. */
  uploadFloats(values: Float32Array, label: string): DeviceBuffer {
    return this.upload(new Uint8Array(values.buffer, values.byteOffset, values.byteLength), label);
  }

  /** A buffer with the same lifetime as the mapped ones. */
  upload(bytes: Uint8Array, label: string): DeviceBuffer {
    return this.#keep(this.#device.upload(bytes, label));
  }

  /** @throws WeightMapError with everything that was missing or invalid so far */
  finish(): void {
    if (this.#missing.length === 0 && this.#mismatched.length === 0) return;
    const missing = this.#missing;
    const similar = this.#source.similar?.(missing) ?? [];
    throw new WeightMapError({ missing, mismatched: this.#mismatched, similar });
  }

  /** Frees everything that was mapped and uploaded. */
  dispose(): void {
    for (const buffer of this.#buffers) buffer.dispose();
  }

  #stored(module: string, rows: number, columns: number, experts?: number): SourceMatrix<Tensor> | null {
    const expected = { rows, columns, ...(experts !== undefined && { experts }) };
    return this.#attempt(() => this.#source.matrix(module, expected));
  }

  /** A missing or invalid matrix has no memory. */
  #mapMatrix<Out extends Axis, In extends Axis>(
    stored: SourceMatrix<Tensor> | null,
    rows: number,
    columns: number,
  ): Matrix<Out, In> {
    if (!stored) return { kind: 'plain', dtype: 'F32', rows, columns, weight: ABSENT };
    const shape = { rows: stored.rows, columns: stored.columns };
    const weight = this.#map(stored.weight);
    if (stored.kind === 'plain') return { kind: 'plain', ...shape, dtype: stored.dtype, weight };
    const scales = this.#map(stored.scales);
    if (stored.kind !== 'affine') return { kind: stored.kind, ...shape, weight, scales };
    const { bits, groupSize, scaleDtype } = stored;
    return {
      ...{ kind: 'affine', ...shape, bits, groupSize, scaleDtype, weight, scales },
      biases: this.#map(stored.biases),
    };
  }

  #floats(name: string, ...shapes: readonly (readonly number[])[]): Tensor | null {
    const tensor = this.#attempt(() => this.#source.tensor(name));
    if (!tensor) return null;
    const isExpected = shapes.some((shape) => `${shape}` === `${tensor.shape}`);
    if (isExpected && isFloatType(tensor.dtype)) return tensor;
    const expected = shapes.map((shape) => `[${shape}]`).join(' or ');
    this.#mismatched.push(
      `${name} is ${tensor.dtype} [${tensor.shape}], expected BF16, F16 or F32 ${expected}`,
    );
    return null;
  }

  #map(tensor: Tensor): DeviceBuffer {
    return this.#keep(this.#device.map(tensor.range));
  }

  #keep(buffer: DeviceBuffer): DeviceBuffer {
    this.#buffers.push(buffer);
    return buffer;
  }

  /** Result of `read`, or null after recording what is wrong with the tensor. */
  #attempt<Result>(read: () => Result): Result | null {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof WeightMapError)) throw error;
      this.#missing.push(...error.missing);
      this.#mismatched.push(...error.mismatched);
      return null;
    }
  }
}

function isFloatType(dtype: DType): dtype is FloatType {
  return dtype === 'BF16' || dtype === 'F16' || dtype === 'F32';
}
