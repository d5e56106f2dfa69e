import type { AffineBits, AffineGroupSize } from '../quantization/affine-codec.js';
import type { FloatDType } from '../quantization/float-conversion.js';
import type { FloatQuantizationMode, QuantizationParameters } from '../quantization/quantization-mode.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** What a caller expects of a matrix: [rows, columns], or [experts, rows, columns]. */
export interface ExpectedMatrix {
  readonly rows: number;
  readonly columns: number;
  /** Length of a leading expert axis; absent = there is none, or `rows` includes it. */
  readonly experts?: number;
}

/** A matrix [rows, columns] of plain numbers. `rows` counts all rows, over all experts. */
export interface PlainMatrix {
  readonly kind: 'plain';
  readonly rows: number;
  readonly columns: number;
  readonly dtype: FloatDType;
  readonly weight: TensorView;
}

/** A matrix in the affine format: `code * scale + bias`. */
export interface AffineMatrix {
  readonly kind: 'affine';
  readonly rows: number;
  readonly columns: number;
  readonly bits: AffineBits;
  readonly groupSize: AffineGroupSize;
  readonly scaleDtype: FloatDType;
  readonly weight: TensorView;
  readonly scales: TensorView;
  readonly biases: TensorView;
}

/** A matrix of small floats: `element * scale`. */
export interface FloatQuantizedMatrix {
  readonly kind: FloatQuantizationMode;
  readonly rows: number;
  readonly columns: number;
  readonly bits: number;
  readonly groupSize: number;
  readonly weight: TensorView;
  readonly scales: TensorView;
}

/** Which tensors belong together, and how to read them. */
export type QuantizedTensor = AffineMatrix | FloatQuantizedMatrix;

/** A matrix that the engine computes with. */
export type StoredMatrix = PlainMatrix | AffineMatrix;

/** A matrix in any format that this package reads. */
export type StoredTensor = PlainMatrix | QuantizedTensor;

/** Something about the way a module is stored that deserves attention. */
export interface StorageWarning {
  /** Canonical module path. */
  readonly module: string;
  /**
   * stored-otherwise: the arrays can be read in one way only, which differs from config.json, and was used. low-bits: the
   * format is known to ruin this module.
   */
  readonly kind: 'stored-otherwise' | 'low-bits';
  /** What config.json says; null = nothing. */
  readonly said: QuantizationParameters | null;
  /** What was used. */
  readonly taken: QuantizationParameters;
  readonly message: string;
}

/** Rows of a matrix, over all experts. */
export function allRows({ experts = 1, rows }: ExpectedMatrix): number {
  return experts * rows;
}
