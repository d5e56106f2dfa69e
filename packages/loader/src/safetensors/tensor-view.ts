import { type ByteRange, CorruptFileError, type DType, InvalidArgumentError } from '@markbase/core';
import { type FileIdentity, readExactly, withFile } from '../files/file-access.js';
import { allocateBytes } from '../files/read-json.js';
import { COPY_CHUNK_BYTES } from '../limits.js';
import { toFloat32 } from '../quantization/float-conversion.js';

/** One tensor of a checkpoint: what it is and where it lies. Nothing was read. */
export interface TensorInfo {
  /** Name as the file spells it. */
  readonly name: string;
  readonly dtype: DType;
  /** Lengths of the axes, outermost first; empty for a scalar. */
  readonly shape: readonly number[];
  readonly range: ByteRange;
}

/** A tensor in a file, read only on demand. Reading notices when the file was replaced since it was opened. */
export class TensorView implements TensorInfo {
  readonly elementCount: number;

  constructor(
    readonly name: string,
    readonly dtype: DType,
    readonly shape: readonly number[],
    readonly range: ByteRange,
    private readonly identity: FileIdentity,
  ) {
    this.elementCount = shape.reduce((product, length) => product * length, 1);
  }

  /** All bytes of the tensor, in a buffer of its own. */
  read(): Promise<Uint8Array> {
    return this.readBytes(0, this.range.sizeBytes);
  }

  /** All elements as float32, whatever the type in the file; not for packed types below 8 bits. */
  async readFloat32(): Promise<Float32Array> {
    return toFloat32(await this.read(), this.dtype);
  }

  /**
   * The bytes of rows `begin` to `end` (exclusive) of the first axis.
   *
   * @throws InvalidArgumentError when the rows are not those of the tensor
   */
  async readRows(begin: number, end: number): Promise<Uint8Array> {
    const rows = this.shape[0] ?? 0;
    this.checkSpan('rows', begin, end, rows);
    if (begin === end) return new Uint8Array(0);
    const rowBytes = this.range.sizeBytes / rows;
    return this.readBytes(begin * rowBytes, end * rowBytes);
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
   * @throws InvalidArgumentError outside of the tensor; CorruptFileError (FileChanged) when the file was replaced
   */
  async readBytes(begin: number, end: number): Promise<Uint8Array> {
    const { path, offsetBytes, sizeBytes } = this.range;
    this.checkSpan('bytes', begin, end, sizeBytes);
    const bytes = allocateBytes(end - begin, this.name);
    await withFile(path, async (file, identity) => {
      if (!isSame(identity, this.identity)) {
        throw new CorruptFileError({
          rule: 'FileChanged',
          path,
          reason: 'the file was changed or replaced since it was opened; open the checkpoint again',
        });
      }
      await readExactly(file, path, bytes, offsetBytes + begin);
    });
    return bytes;
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

function isSame(a: FileIdentity, b: FileIdentity): boolean {
  return a.sizeBytes === b.sizeBytes && a.modifiedMs === b.modifiedMs && a.inode === b.inode;
}
