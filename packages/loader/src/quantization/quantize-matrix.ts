import type { PlainMatrix } from '../checkpoint/stored-matrix.js';
import { type AffineBits, type AffineGroupSize, quantizeAffineBytes } from './affine-codec.js';
import { allRows, rowChunks } from './row-source.js';

/** How a matrix is quantised while it is loaded. */
export interface QuantizeMatrixOptions {
  /** Bits of a code. */
  readonly bits: AffineBits;
  /** Adjacent columns of a row that share a scale and a bias. */
  readonly groupSize: AffineGroupSize;
  /** Aborts the work, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** A matrix [rows, columns] in the affine format, in memory. */
export interface QuantizedMatrix {
  /** Out, the number of rows. */
  readonly rows: number;
  /** In, the number of columns before packing. */
  readonly columns: number;
  /** Bits of a code. */
  readonly bits: AffineBits;
  /** Adjacent columns of a row that share a scale and a bias. */
  readonly groupSize: AffineGroupSize;
  readonly scaleDtype: 'F32';
  /** The packed codes, little-endian uint32 [Out, In * bits / 32]. */
  readonly weight: Uint8Array;
  /** Scales [Out, In / groupSize], in the requested element type. */
  readonly scales: Uint8Array;
  /** Biases [Out, In / groupSize], in the requested element type. */
  readonly biases: Uint8Array;
}

/**
 * Quantises a stored matrix with the arithmetic of `quantizeAffine`, a few megabytes of rows at a time: only the result and
 * one chunk are in memory. Scales and biases stay float32, since no file format requires otherwise: rounded to bfloat16
 * their error would exceed that of 8-bit codes.
 *
 * @throws InvalidArgumentError when the number of columns is not a multiple of the group size; the signal's reason when aborted
 */
export async function quantizeMatrix(
  { rows, columns, dtype, weight }: PlainMatrix,
  { bits, groupSize, signal }: QuantizeMatrixOptions,
): Promise<QuantizedMatrix> {
  const options = { bits, groupSize, scaleDtype: 'F32' } as const;
  // The codec checks the options; called with no rows, its arrays give the size of one.
  quantizeAffineBytes(new Uint8Array(0), dtype, 0, columns, options);
  const rowBytes = weight.range.sizeBytes / Math.max(rows, 1);
  const groupBytes = (columns / groupSize) * Float32Array.BYTES_PER_ELEMENT;
  const made = {
    weight: new Uint8Array((rows * columns * bits) / 8),
    scales: new Uint8Array(rows * groupBytes),
    biases: new Uint8Array(rows * groupBytes),
  };
  let row = 0;
  for await (const bytes of rowChunks(allRows(weight))) {
    signal?.throwIfAborted();
    const count = bytes.length / rowBytes;
    const parts = quantizeAffineBytes(bytes, dtype, count, columns, options);
    made.weight.set(new Uint8Array(parts.weight.buffer), (row * columns * bits) / 8);
    made.scales.set(parts.scales, row * groupBytes);
    made.biases.set(parts.biases, row * groupBytes);
    row += count;
  }
  return { rows, columns, bits, groupSize, scaleDtype: 'F32', ...made };
}
