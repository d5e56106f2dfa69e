import type { AffineBits, AffineGroupSize } from '../quantization/affine-codec.js';
import type { FloatDType } from '../quantization/float-conversion.js';
import type { FloatQuantizationMode, QuantizationParameters } from '../quantization/quantization-mode.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** What a caller expects of a matrix: [rows, columns], or [experts, rows, columns]. */
export interface ExpectedMatrix {
  /** Out, the number of rows. */
  readonly rows: number;
  /** In, the number of columns before packing. */
  readonly columns: number;
  /** Length of a leading expert axis; absent = there is none, or `rows` includes it. */
  readonly experts?: number;
}

/** A matrix [rows, columns] of plain numbers. `rows` counts all rows, over all experts. */
export interface PlainMatrix {
  readonly kind: 'plain';
  /** Out, the number of rows. */
  readonly rows: number;
  /** In, the number of columns. */
  readonly columns: number;
  /** Element type of the weights. */
  readonly dtype: FloatDType;
  /** The weights [Out, In]. */
  readonly weight: TensorView;
}

/** A matrix in the affine format: `code * scale + bias`. */
export interface AffineMatrix {
  readonly kind: 'affine';
  /** Out, the number of rows. */
  readonly rows: number;
  /** In, the number of columns before packing. */
  readonly columns: number;
  /** Bits of a code. */
  readonly bits: AffineBits;
  /** Adjacent columns of a row that share a scale and a bias. */
  readonly groupSize: AffineGroupSize;
  /** Element type of scales and biases. */
  readonly scaleDtype: FloatDType;
  /** The packed codes, uint32 [Out, In * bits / 32]. */
  readonly weight: TensorView;
  /** Scales [Out, In / groupSize]. */
  readonly scales: TensorView;
  /** Biases [Out, In / groupSize]. */
  readonly biases: TensorView;
}

/** A matrix of small floats: `element * scale`. */
export interface FloatQuantizedMatrix {
  /** The floating-point format of the codes. */
  readonly kind: FloatQuantizationMode;
  /** Out, the number of rows. */
  readonly rows: number;
  /** In, the number of columns before packing. */
  readonly columns: number;
  /** Bits of a code. */
  readonly bits: number;
  /** Adjacent columns of a row that share a scale. */
  readonly groupSize: number;
  /** The packed codes, uint32 [Out, In * bits / 32]. */
  readonly weight: TensorView;
  /** Scales [Out, In / groupSize], a byte each. */
  readonly scales: TensorView;
}

/** Which tensors belong together, and how to read them. */
export type QuantizedTensor = AffineMatrix | FloatQuantizedMatrix;

/** A matrix in any format. */
export type StoredTensor = PlainMatrix | QuantizedTensor;

/** A matrix that the engine computes with: small floats have a multiple of 32 columns. */
export type StoredMatrix = StoredTensor;

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
  /** What is unusual about the tensor, as a sentence. */
  readonly message: string;
}

/** Rows of a matrix, over all experts. */
export function allRows({ experts = 1, rows }: ExpectedMatrix): number {
  return experts * rows;
}
