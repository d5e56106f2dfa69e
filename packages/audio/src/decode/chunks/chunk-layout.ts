import type { DecodeContext } from '../sound-decoder.js';
import type { PcmFormat } from './pcm-decoder.js';

/** The head of a chunk. */
export interface ChunkHead {
  readonly name: string;
  /** Size of its content as stated; infinite if the writer did not know it. */
  readonly sizeBytes: number;
}

/** What differs between the containers that consist of named chunks with uncompressed samples: WAV, AIFF and CAF. */
export interface ChunkLayout {
  /** For messages. */
  readonly name: string;
  /** Size of the head of the file, before the first chunk. */
  readonly fileHeadBytes: number;
  readonly chunkHeadBytes: number;
  /** Chunks begin at even offsets. */
  readonly isPadded: boolean;
  /** Name of the chunk with the samples. */
  readonly dataName: string;
  /** Bytes in that chunk before the samples. */
  readonly dataSkipBytes: number;
  /** Rule of errors about the format. */
  readonly rule: string;
  /** End of the file that its head states; infinite if it says nothing. */
  statedEnd(fileHead: Uint8Array): number;
  readHead(bytes: Uint8Array): ChunkHead;
  /** The format of the samples and, where a chunk states it, the size of the data; null for chunks that say neither. */
  readChunk(name: string, content: Uint8Array, context: DecodeContext): ChunkFacts | null;
  /** True for chunks that `readChunk` reads. */
  isNeeded(name: string): boolean;
}

/** What a chunk says about the samples. */
export interface ChunkFacts {
  readonly format?: PcmFormat;
  /** Size of the samples, for files whose chunk heads are too small for it. */
  readonly longDataBytes?: number;
}

/** Sizes within this distance below or above 2^31 and 2^32 are placeholders, not sizes. */
const PLACEHOLDER_DISTANCE = 4096;

/**
 * A stated size, or infinity for a placeholder: writers that do not know the length yet, for example into a pipe, write nearly 2 GiB or
 * 4 GiB, plus or minus their header.
 */
export function statedSize(size: number): number {
  const isPlaceholder = [2 ** 31, 2 ** 32].some((value) => Math.abs(size - value) <= PLACEHOLDER_DISTANCE);
  return isPlaceholder ? Number.POSITIVE_INFINITY : size;
}

/** A view of all bytes. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** Four letters, such as `data`. */
export function fourLetters(bytes: Uint8Array, at: number): string {
  return Buffer.from(bytes.subarray(at, at + 4)).toString('latin1');
}
