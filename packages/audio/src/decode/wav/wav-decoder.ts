import { ByteQueue } from '../byte-queue.js';
import { checkTruncated, corrupt, unsupported } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import { PcmDecoder } from './pcm-decoder.js';
import { parseWavFormat } from './wav-format.js';

const RIFF_BYTES = 12;
const CHUNK_HEADER_BYTES = 8;
/** Longest chunk that is read; longer ones are skipped. */
const MAX_FORMAT_BYTES = 65_536;

/**
 * WAV: RIFF, and RF64 or BW64 for more than 4 GiB, with integer, float, A-law and mu-law samples.
 *
 * Chunks that are not needed are skipped, wherever they are. If the header has no length, everything up to the end is
 * sound.
 */
export class WavDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #queue = new ByteQueue();
  /** Length that the header of the file states. */
  #riffBytes: number | null = null;
  #skipBytes = 0;
  /** Length of the data of a file beyond 4 GiB, from its `ds64` chunk. */
  #longDataBytes: number | null = null;
  #samples: PcmDecoder | null = null;
  #isInData = false;
  /** Bytes of data still to come; infinite if unknown. */
  #dataLeft = 0;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  *push(bytes: Uint8Array): Generator<SamplePiece> {
    if (this.#isInData) return yield* this.#readData(bytes);
    this.#queue.push(bytes);
    this.#readChunks();
    if (this.#isInData) yield* this.#readData(this.#queue.take());
  }

  *finish(): Generator<SamplePiece> {
    if (!this.#isInData || this.#samples === null) {
      return corrupt(
        this.#context,
        'TruncatedAudio',
        'the WAV file ends before its samples',
        this.#queue.position,
      );
    }
    yield* this.#samples.finish();
    if (this.#dataLeft > 0 && Number.isFinite(this.#dataLeft)) {
      checkTruncated(this.#context, `the WAV file ends ${this.#dataLeft} bytes before its samples do`);
    }
  }

  close(): void {}

  *#readData(bytes: Uint8Array): Generator<SamplePiece> {
    const data = bytes.subarray(0, Math.min(bytes.length, this.#dataLeft));
    this.#dataLeft -= data.length;
    yield* this.#samples!.push(data);
  }

  #readChunks(): void {
    const queue = this.#queue;
    if (this.#riffBytes === null) {
      if (queue.length < RIFF_BYTES) return;
      this.#riffBytes = uint32(queue.take(RIFF_BYTES), 4);
    }
    while (!this.#isInData) {
      const skipped = Math.min(this.#skipBytes, queue.length);
      queue.skip(skipped);
      this.#skipBytes -= skipped;
      if (this.#skipBytes > 0 || queue.length < CHUNK_HEADER_BYTES || !this.#readChunk()) return;
    }
  }

  /** Reads the next chunk; false if more bytes are needed first. */
  #readChunk(): boolean {
    const queue = this.#queue;
    const header = queue.peek(CHUNK_HEADER_BYTES);
    const name = Buffer.from(header.subarray(0, 4)).toString('latin1');
    const size = uint32(header, 4);
    if (name === 'data') return this.#beginData(size);
    const isNeeded = name === 'fmt ' || name === 'ds64';
    if (isNeeded) {
      if (size > MAX_FORMAT_BYTES)
        corrupt(this.#context, 'InvalidWavFormat', `${name} has ${size} bytes`, queue.position);
      if (queue.length < CHUNK_HEADER_BYTES + size) return false;
      this.#readFields(name, queue.peek(CHUNK_HEADER_BYTES + size).subarray(CHUNK_HEADER_BYTES));
    }
    // Chunks begin at even offsets.
    this.#skipBytes = CHUNK_HEADER_BYTES + size + (size % 2);
    return true;
  }

  #readFields(name: string, chunk: Uint8Array): void {
    if (name === 'fmt ') {
      this.#samples = new PcmDecoder(parseWavFormat(chunk, this.#context), this.#context);
    } else if (chunk.length >= 16) {
      const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      this.#longDataBytes = Number(view.getBigUint64(8, true));
    }
  }

  #beginData(size: number): true {
    if (this.#samples === null) unsupported(this.#context, 'WAV whose samples come before their format');
    this.#queue.skip(CHUNK_HEADER_BYTES);
    this.#isInData = true;
    const isLong = size === 0xffff_ffff && this.#longDataBytes !== null;
    if (isLong) this.#dataLeft = this.#longDataBytes!;
    else this.#dataLeft = isUnknown(size, this.#riffBytes!) ? Number.POSITIVE_INFINITY : size;
    if (Number.isFinite(this.#dataLeft)) this.#samples.checkStated(this.#dataLeft);
    return true;
  }
}

/** Writers that do not know the length yet, for example into a pipe, write 0, all ones, or nearly 2 GiB instead. */
function isUnknown(size: number, riffBytes: number): boolean {
  if (size === 0) return riffBytes === 0 || isUnknown(riffBytes, 1);
  return size === 0xffff_ffff || (size >= 0x7fff_f000 && size <= 0x7fff_ffff);
}

function uint32(bytes: Uint8Array, at: number): number {
  return new DataView(bytes.buffer, bytes.byteOffset).getUint32(at, true);
}
