import { ByteQueue } from '../byte-queue.js';
import { checkTruncated, corrupt, foreign } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import type { ChunkLayout } from './chunk-layout.js';
import { PcmDecoder } from './pcm-decoder.js';

/** Longest chunk that is read; longer ones are skipped. */
const MAX_FORMAT_BYTES = 65_536;

/**
 * WAV, AIFF and CAF with uncompressed samples.
 *
 * Chunks that are not needed are skipped, wherever they are. A stated length that cannot be right does not matter: the samples that are
 * there are read. Only a file that ends well before its stated end is truncated.
 */
export class ChunkDecoder implements SoundDecoder {
  readonly #layout: ChunkLayout;
  readonly #context: DecodeContext;
  readonly #queue = new ByteQueue();
  /** End of the file as its head states it; null before that was read. */
  #statedEnd: number | null = null;
  #skipBytes = 0;
  /** Length of the data that another chunk states. */
  #longDataBytes: number | null = null;
  #samples: PcmDecoder | null = null;
  #isInData = false;
  /** Bytes of data still to come; infinite if unknown. */
  #dataLeft = 0;
  #dataStart = 0;
  #totalBytes = 0;

  constructor(layout: ChunkLayout, context: DecodeContext) {
    this.#layout = layout;
    this.#context = context;
  }

  *push(bytes: Uint8Array): Generator<SamplePiece> {
    this.#totalBytes += bytes.length;
    if (this.#isInData) return yield* this.#readData(bytes);
    this.#queue.push(bytes);
    this.#readChunks();
    if (this.#isInData) yield* this.#readData(this.#queue.take());
  }

  finish(): readonly SamplePiece[] {
    if (!this.#isInData) {
      const reason = `the ${this.#layout.name} file ends before its samples`;
      corrupt(this.#context, 'TruncatedAudio', reason, this.#queue.position);
    }
    const missing = this.#dataLeft;
    if (missing === 0 || !Number.isFinite(missing)) return [];
    // A size that counts the headers, too, or contradicts the size of the file, is wrong; nothing is missing.
    const isWrongSize = missing <= this.#dataStart || this.#totalBytes >= this.#statedEnd!;
    if (!isWrongSize) {
      const reason = `the ${this.#layout.name} file ends ${missing} bytes before its samples do`;
      checkTruncated(this.#context, reason);
    }
    return [];
  }

  close(): void {}

  *#readData(bytes: Uint8Array): Generator<SamplePiece> {
    const data = bytes.subarray(0, Math.min(bytes.length, this.#dataLeft));
    this.#dataLeft -= data.length;
    yield* this.#samples!.push(data);
  }

  #readChunks(): void {
    const queue = this.#queue;
    const { fileHeadBytes, chunkHeadBytes } = this.#layout;
    if (this.#statedEnd === null) {
      if (queue.length < fileHeadBytes) return;
      this.#statedEnd = this.#layout.statedEnd(queue.take(fileHeadBytes));
    }
    while (!this.#isInData) {
      const skipped = Math.min(this.#skipBytes, queue.length);
      queue.skip(skipped);
      this.#skipBytes -= skipped;
      if (this.#skipBytes > 0 || queue.length < chunkHeadBytes || !this.#readChunk()) return;
    }
  }

  /** Reads the next chunk; false if more bytes are needed first. */
  #readChunk(): boolean {
    const queue = this.#queue;
    const layout = this.#layout;
    const { name, sizeBytes } = layout.readHead(queue.peek(layout.chunkHeadBytes));
    if (name === layout.dataName) return this.#beginData(sizeBytes);
    if (layout.isNeeded(name)) {
      if (sizeBytes > MAX_FORMAT_BYTES)
        corrupt(this.#context, layout.rule, `${name} has ${sizeBytes} bytes`, queue.position);
      const wholeBytes = layout.chunkHeadBytes + sizeBytes;
      if (queue.length < wholeBytes) return false;
      this.#readFacts(name, queue.peek(wholeBytes).subarray(layout.chunkHeadBytes));
    }
    this.#skipBytes = layout.chunkHeadBytes + sizeBytes + (layout.isPadded ? sizeBytes % 2 : 0);
    return true;
  }

  #readFacts(name: string, content: Uint8Array): void {
    const facts = this.#layout.readChunk(name, content, this.#context);
    if (facts?.format) this.#samples = new PcmDecoder(facts.format, this.#context);
    if (facts?.longDataBytes !== undefined) this.#longDataBytes = facts.longDataBytes;
  }

  #beginData(sizeBytes: number): boolean {
    const { name, chunkHeadBytes, dataSkipBytes } = this.#layout;
    if (this.#samples === null) foreign(this.#context, `${name} whose samples come before their format`);
    if (this.#queue.length < chunkHeadBytes + dataSkipBytes) return false;
    this.#queue.skip(chunkHeadBytes + dataSkipBytes);
    this.#isInData = true;
    this.#dataStart = this.#queue.position;
    // A header that was never completed states no samples, and the end of the file right after it.
    const isUnfinished = sizeBytes <= dataSkipBytes && this.#isUnfinishedHead();
    const isLong = !Number.isFinite(sizeBytes) && this.#longDataBytes !== null;
    if (isLong) this.#dataLeft = this.#longDataBytes!;
    else this.#dataLeft = isUnfinished ? Number.POSITIVE_INFINITY : Math.max(0, sizeBytes - dataSkipBytes);
    if (Number.isFinite(this.#dataLeft)) this.#samples.checkStated(this.#dataLeft);
    return true;
  }

  #isUnfinishedHead(): boolean {
    return !Number.isFinite(this.#statedEnd!) || this.#statedEnd! <= this.#dataStart;
  }
}
