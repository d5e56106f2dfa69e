import type { MPEGDecoder as Mpg123 } from 'mpg123-decoder';
import { checkLength, checkTruncated, corrupt, foreign } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import { MpegFrames, type MpegHeader, parseMpegHeader } from './mpeg-frames.js';

/** Number of bytes decoded at a time. */
const BATCH_BYTES = 32_768;

/**
 * MP3, and MPEG layers I and II, through mpg123 in WebAssembly. Because of its licence, the LGPL, it is an optional
 * dependency, loaded when the first such file is opened.
 *
 * The file is split into frames here, so that tags are skipped and truncation is detected.
 */
export class MpegDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #decoder: Mpg123;
  readonly #frames = new MpegFrames();
  #batch: Uint8Array[] = [];
  #batchBytes = 0;
  #frameCount = 0;
  /** Number of frames announced by the first one; null if it does not say. */
  #expectedFrames: number | null = null;

  private constructor(decoder: Mpg123, context: DecodeContext) {
    this.#decoder = decoder;
    this.#context = context;
  }

  /** @throws ForeignSoundError when the package mpg123-decoder is not installed */
  static async open(context: DecodeContext): Promise<MpegDecoder> {
    const { MPEGDecoder } = await import('mpg123-decoder').catch(() => {
      return foreign(context, 'MP3 without the package mpg123-decoder');
    });
    const decoder = new MPEGDecoder();
    await decoder.ready;
    return new MpegDecoder(decoder, context);
  }

  *push(bytes: Uint8Array): Generator<SamplePiece> {
    for (const frame of this.#frames.push(bytes)) {
      this.#add(frame);
      if (this.#batchBytes >= BATCH_BYTES) yield* this.#decode();
    }
    yield* this.#decode();
  }

  *finish(): Generator<SamplePiece> {
    for (const frame of this.#frames.finish()) this.#add(frame);
    yield* this.#decode();
    if (this.#frames.header === null) corrupt(this.#context, 'InvalidMpeg', 'it has no frame of MPEG audio');
    if (this.#frames.unfinishedBytes > 0) checkTruncated(this.#context, 'the last MPEG frame is incomplete');
    if (this.#expectedFrames !== null && this.#frameCount < this.#expectedFrames) {
      checkTruncated(
        this.#context,
        `the file has ${this.#frameCount} of ${this.#expectedFrames} MPEG frames`,
      );
    }
  }

  close(): void {
    this.#decoder.free();
  }

  #add(frame: Uint8Array): void {
    const isFirst = this.#frameCount === 0 && this.#batch.length === 0 && this.#expectedFrames === null;
    const promised = isFirst ? promisedFrames(frame) : null;
    if (promised !== null) this.#expect(promised);
    else this.#frameCount += 1;
    // A frame in the queue is only valid until the next bytes arrive.
    this.#batch.push(frame.slice());
    this.#batchBytes += frame.length;
  }

  #expect(frames: number): void {
    this.#expectedFrames = frames;
    const { sampleCount, sampleRate } = this.#frames.header!;
    checkLength(this.#context, frames * sampleCount, sampleRate);
  }

  *#decode(): Generator<SamplePiece> {
    if (this.#batch.length === 0) return;
    const bytes = Buffer.concat(this.#batch);
    this.#batch = [];
    this.#batchBytes = 0;
    const { channelData, samplesDecoded, sampleRate, errors } = this.#decoder.decode(bytes);
    if (errors.length > 0) corrupt(this.#context, 'InvalidMpeg', errors[0]!.message);
    const channels = channelData.slice(0, this.#frames.header!.channelCount);
    if (samplesDecoded > 0) yield { sampleRate, channels };
  }
}

/** Number of frames in the information frame (`Xing`, `Info` or `VBRI`) at the beginning of a file; null for other frames. */
function promisedFrames(frame: Uint8Array): number | null {
  const header = parseMpegHeader(frame);
  if (header === null || header.layer !== 3) return null;
  const view = new DataView(frame.buffer, frame.byteOffset, frame.byteLength);
  const markAt = (at: number): string => Buffer.from(frame.subarray(at, at + 4)).toString('latin1');
  const at = 4 + sideInfoBytes(header);
  if (markAt(at) === 'Xing' || markAt(at) === 'Info') {
    const hasCount = at + 12 <= frame.length && (view.getUint32(at + 4) & 1) === 1;
    return hasCount ? view.getUint32(at + 8) : 0;
  }
  const isFraunhofer = markAt(36) === 'VBRI' && frame.length >= 54;
  return isFraunhofer ? view.getUint32(50) : null;
}

function sideInfoBytes(header: MpegHeader): number {
  if (header.version === 1) return header.channelCount === 1 ? 17 : 32;
  return header.channelCount === 1 ? 9 : 17;
}
