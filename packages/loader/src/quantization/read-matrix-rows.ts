import { InvalidArgumentError } from '@markbase/core';
import type { StoredTensor } from '../checkpoint/stored-matrix.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import { dequantizeAffine } from './affine-codec.js';
import { dequantizeFloat } from './float-codec.js';
import { toFloat32 } from './float-conversion.js';

/**
 * Rows `begin` to `end` (exclusive) of a matrix in any format, as float32; only their own bytes are read.
 *
 * Rows are counted over all experts. A row of a table of several gigabytes costs a few kilobytes.
 *
 * @throws InvalidArgumentError when the rows are not those of the matrix
 */
export async function readMatrixRows(
  matrix: StoredTensor,
  begin: number,
  end: number,
): Promise<Float32Array> {
  const { rows: rowCount, columns } = matrix;
  const isOrdered = 0 <= begin && begin <= end && end <= rowCount;
  if (!Number.isInteger(begin) || !Number.isInteger(end) || !isOrdered) {
    throw new InvalidArgumentError({
      argument: 'begin, end',
      expected: `rows within 0 to ${rowCount} of ${matrix.weight.name}`,
      received: [begin, end],
    });
  }
  const rows = end - begin;
  const read = (tensor: TensorView): Promise<Uint8Array> => {
    const rowBytes = rowCount === 0 ? 0 : tensor.range.sizeBytes / rowCount;
    return tensor.readBytes(begin * rowBytes, end * rowBytes);
  };
  const weight = await read(matrix.weight);
  if (matrix.kind === 'plain') return toFloat32(weight, matrix.dtype);
  const words = new Uint32Array(weight.slice().buffer);
  const scales = await read(matrix.scales);
  if (matrix.kind !== 'affine') return dequantizeFloat({ weight: words, scales }, rows, columns, matrix.kind);
  return dequantizeAffine(
    { weight: words, scales, biases: await read(matrix.biases) },
    rows,
    columns,
    matrix,
  );
}
