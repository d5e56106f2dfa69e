import type { QuantizedTensor } from '../checkpoint/stored-matrix.js';
import { COPY_CHUNK_BYTES } from '../limits.js';
import type { TensorView } from '../safetensors/tensor-view.js';
import type { FloatDType } from './float-conversion.js';
import { readMatrixRows } from './read-matrix-rows.js';

/** A matrix in a file, read by rows. Leading axes count as rows. */
export interface RowSource {
  /** Of the elements; a tensor whose dtype is not a float is only ever copied. */
  readonly dtype: FloatDType;
  readonly rows: number;
  readonly columns: number;
  readonly rowBytes: number;
  /** The bytes of rows `begin` to `end` (exclusive); possibly fewer rows than requested, but at least one. */
  read(begin: number, end: number): Promise<Uint8Array>;
}

/** All rows of a tensor [.., columns]. */
export function allRows(tensor: TensorView): RowSource {
  const columns = tensor.shape.at(-1) ?? 1;
  const rows = tensor.elementCount / columns;
  const rowBytes = tensor.range.sizeBytes / rows;
  return {
    dtype: tensor.dtype as FloatDType,
    rows,
    columns,
    rowBytes,
    read: (begin, end) => tensor.readBytes(begin * rowBytes, end * rowBytes),
  };
}

/**
 * One half of the rows of every expert of a fused tensor [E, 2F, D].
 *
 * @param half 0 = gate, 1 = up
 */
export function expertHalf(tensor: TensorView, half: 0 | 1): RowSource {
  const [experts = 0, fused = 0, columns = 0] = tensor.shape;
  const size = fused / 2;
  const rowBytes = tensor.range.sizeBytes / (experts * fused);
  return {
    dtype: tensor.dtype as FloatDType,
    rows: experts * size,
    columns,
    rowBytes,
    read(begin, end) {
      const expert = Math.floor(begin / size);
      // The other half of this expert follows: no read may cross into it.
      const last = Math.min(end, (expert + 1) * size);
      const shift = (expert + half) * size;
      return tensor.readBytes((begin + shift) * rowBytes, (last + shift) * rowBytes);
    },
  };
}

/** All rows of a quantised matrix, recovered as float32. */
export function dequantizedRows(matrix: QuantizedTensor): RowSource {
  const { rows, columns } = matrix;
  return {
    ...{ dtype: 'F32', rows, columns, rowBytes: columns * Float32Array.BYTES_PER_ELEMENT },
    async read(begin, end) {
      const values = await readMatrixRows(matrix, begin, end);
      return new Uint8Array(values.buffer, values.byteOffset, values.byteLength);
    },
  };
}

/** All bytes of a source, in pieces of about `chunkBytes`. */
export async function* rowChunks(
  source: RowSource,
  chunkBytes = COPY_CHUNK_BYTES,
): AsyncGenerator<Uint8Array> {
  const { rowBytes } = source;
  const step = Math.max(1, Math.floor(chunkBytes / rowBytes));
  for (let row = 0; row < source.rows; ) {
    const bytes = await source.read(row, Math.min(row + step, source.rows));
    row += bytes.length / rowBytes;
    yield bytes;
  }
}
