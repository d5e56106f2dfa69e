import { ByteQueue } from '../byte-queue.js';
import { checkTruncated, corrupt } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import { OutOfBitsError } from './bit-reader.js';
import { decodeFlacFrame, type FlacFrame } from './flac-frame.js';
import { type FlacInfo, parseFlacInfo } from './flac-info.js';

const MARK_BYTES = 4;
const BLOCK_HEADER_BYTES = 4;
/** Bytes to wait for before trying to decode a frame; most frames are smaller. */
const FRAME_GUESS_BYTES = 16_384;

/**
 * FLAC of 4 to 32 bits: every frame is checked against its checksums, and the end against the length in the header.
 */
export class FlacDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #queue = new ByteQueue();
  #info: FlacInfo | null = null;
  #hasMark = false;
  #isInFrames = false;
  #skipBytes = 0;
  #neededBytes = FRAME_GUESS_BYTES;
  #sampleCount = 0;

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  *push(bytes: Uint8Array): Generator<SamplePiece> {
    this.#queue.push(bytes);
    if (!this.#isInFrames) this.#readBlocks();
    while (this.#isInFrames && this.#queue.length >= this.#neededBytes) {
      const frame = this.#readFrame();
      if (frame === null) this.#waitForMore();
      else yield this.#give(frame);
    }
  }

  *finish(): Generator<SamplePiece> {
    if (!this.#isInFrames) corrupt(this.#context, 'TruncatedAudio', 'the FLAC file ends in its header');
    const total = this.#info!.totalSamples;
    while (this.#queue.length > 0 && (total === 0 || this.#sampleCount < total)) {
      const frame = this.#readFrame();
      if (frame === null)
        return checkTruncated(this.#context, 'the last FLAC frame is incomplete', this.#queue.position);
      yield this.#give(frame);
    }
    if (this.#sampleCount < total) {
      checkTruncated(this.#context, `the FLAC file has ${this.#sampleCount} of ${total} samples`);
    }
  }

  close(): void {}

  #readBlocks(): void {
    const queue = this.#queue;
    if (!this.#hasMark) {
      if (queue.length < MARK_BYTES) return;
      queue.skip(MARK_BYTES);
      this.#hasMark = true;
    }
    let isLast = false;
    while (!this.#isInFrames) {
      const skipped = Math.min(this.#skipBytes, queue.length);
      queue.skip(skipped);
      this.#skipBytes -= skipped;
      if (this.#skipBytes > 0 || queue.length < BLOCK_HEADER_BYTES) return;
      const header = queue.peek(BLOCK_HEADER_BYTES);
      isLast = header[0]! >= 0x80;
      const size = (header[1]! << 16) | (header[2]! << 8) | header[3]!;
      if (this.#info === null) {
        if (queue.length < BLOCK_HEADER_BYTES + size) return;
        if ((header[0]! & 0x7f) !== 0)
          corrupt(this.#context, 'InvalidFlac', 'it does not begin with STREAMINFO', 4);
        const block = queue.peek(BLOCK_HEADER_BYTES + size).subarray(BLOCK_HEADER_BYTES);
        this.#info = parseFlacInfo(block, this.#context);
      }
      this.#skipBytes = BLOCK_HEADER_BYTES + size;
      this.#isInFrames = isLast;
    }
  }

  /** The next frame, or null while it is incomplete. */
  #readFrame(): FlacFrame | null {
    const queue = this.#queue;
    const skipped = Math.min(this.#skipBytes, queue.length);
    queue.skip(skipped);
    this.#skipBytes -= skipped;
    if (this.#skipBytes > 0) return null;
    try {
      return decodeFlacFrame(queue.peek(), this.#info!, this.#context, queue.position);
    } catch (error) {
      if (error instanceof OutOfBitsError) return null;
      throw error;
    }
  }

  /** No frame takes twice the bytes of its samples; without that limit, a damaged one could claim the rest of the file. */
  #waitForMore(): void {
    const { channelCount, maxBlockSize, bitsPerSample } = this.#info!;
    const most = FRAME_GUESS_BYTES + 2 * Math.ceil((channelCount * maxBlockSize * (bitsPerSample + 1)) / 8);
    if (this.#queue.length > most) {
      const reason = `a frame of more than ${most} bytes`;
      corrupt(this.#context, 'InvalidFlac', reason, this.#queue.position);
    }
    this.#neededBytes = Math.max(FRAME_GUESS_BYTES, 2 * this.#queue.length);
  }

  #give(frame: FlacFrame): SamplePiece {
    this.#queue.skip(frame.byteLength);
    this.#neededBytes = FRAME_GUESS_BYTES;
    this.#sampleCount += frame.channels[0]!.length;
    return { sampleRate: this.#info!.sampleRate, channels: frame.channels };
  }
}
