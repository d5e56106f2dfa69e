import { type ByteRange, type DType, InvalidArgumentError } from '@markbase/core';
import { COPY_CHUNK_BYTES } from '../limits.js';
import { toFloat32 } from '../quantization/float-conversion.js';
import { allocateBytes } from '../sources/allocate-bytes.js';
import type { ByteSource } from '../sources/byte-source.js';

/** One tensor of a checkpoint: what it is and where it is stored. Nothing has been read. */
export interface TensorInfo {
  /** Name as the file spells it. */
  readonly name: string;
  /** Element type in the file. */
  readonly dtype: DType;
  /** Lengths of the axes, outermost first; empty for a scalar. */
  readonly shape: readonly number[];
  /** The bytes of the tensor in its file. */
  readonly range: ByteRange;
}

/**
 * A tensor in a file, a blob, memory or at an address, read only on demand.
 *
 * Reads fail if the file was replaced since it was opened.
 */
export class TensorView implements TensorInfo {
  /** Product of the sizes of the axes. */
  readonly elementCount: number;

  constructor(
    readonly name: string,
    readonly dtype: DType,
    readonly shape: readonly number[],
    readonly range: ByteRange,
    private readonly source: ByteSource,
  ) {
    this.elementCount = shape.reduce((product, length) => product * length, 1);
  }

  /** All bytes of the tensor, in a new buffer. */
  read(): Promise<Uint8Array> {
    return this.readBytes(0, this.range.sizeBytes);
  }

  /**
   * All elements as float32, whatever the type in the file.
   *
   * @throws InvalidArgumentError for C64: a complex number is two values
   */
  async readFloat32(): Promise<Float32Array> {
    return toFloat32(await this.read(), this.dtype);
  }

  /** The bytes of rows `begin` to `end` (exclusive) of the first axis; errors as `slice`. */
  async readRows(begin: number, end: number): Promise<Uint8Array> {
    return this.slice(begin, end).read();
  }

  /**
   * Rows `begin` to `end` (exclusive) of the first axis, as a separate tensor; nothing is read.
   *
   * @throws InvalidArgumentError when the rows are not those of the tensor, or packed rows are not whole bytes
   */
  slice(begin: number, end: number): TensorView {
    const [rows = 0, ...rest] = this.shape;
    this.checkSpan('rows', begin, end, rows);
    const { path, offsetBytes, sizeBytes } = this.range;
    const rowBytes = rows === 0 ? 0 : sizeBytes / rows;
    // Exact: rowBytes is a multiple of 1/4, and the products stay below 2^53 / 8.
    const first = begin * rowBytes;
    const last = end * rowBytes;
    if (!Number.isInteger(first) || !Number.isInteger(last)) {
      throw new InvalidArgumentError({
        argument: 'begin, end',
        expected: `rows of ${this.name} that begin and end with a byte; a row has ${8 * rowBytes} bits`,
        received: [begin, end],
      });
    }
    const range = { path, offsetBytes: offsetBytes + first, sizeBytes: last - first };
    return new TensorView(this.name, this.dtype, [end - begin, ...rest], range, this.source);
  }

  /** All bytes in pieces of at most `chunkBytes`, for copies that need little memory. */
  async *chunks(chunkBytes = COPY_CHUNK_BYTES): AsyncGenerator<Uint8Array> {
    for (let begin = 0; begin < this.range.sizeBytes; begin += chunkBytes) {
      yield await this.readBytes(begin, Math.min(begin + chunkBytes, this.range.sizeBytes));
    }
  }

  /**
   * Bytes `begin` to `end` (exclusive) of the tensor.
   *
   * @throws InvalidArgumentError outside the tensor; CorruptFileError (FileChanged) when the file was replaced
   */
  async readBytes(begin: number, end: number): Promise<Uint8Array> {
    this.checkSpan('bytes', begin, end, this.range.sizeBytes);
    const bytes = allocateBytes(end - begin, this.name);
    await this.readInto(bytes, begin);
    return bytes;
  }

  /**
   * Fills `target` with the bytes of the tensor from `begin` on. Reusing one buffer is several times faster than allocating
   * memory for each read, which the operating system has to clear first.
   *
   * @throws as `readBytes`
   */
  async readInto(target: Uint8Array, begin = 0): Promise<void> {
    const { offsetBytes, sizeBytes } = this.range;
    this.checkSpan('bytes', begin, begin + target.length, sizeBytes);
    if (target.length > 0) await this.source.read(target, offsetBytes + begin);
  }

  private checkSpan(unit: string, begin: number, end: number, limit: number): void {
    const isOrdered = 0 <= begin && begin <= end && end <= limit;
    if (Number.isInteger(begin) && Number.isInteger(end) && isOrdered) return;
    throw new InvalidArgumentError({
      argument: 'begin, end',
      expected: `${unit} within 0 to ${limit} of ${this.name}`,
      received: [begin, end],
    });
  }
}
