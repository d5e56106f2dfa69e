import { checkLength, checkTruncated } from '../decode-errors.js';
import type { DecodeContext, SamplePiece, SoundDecoder } from '../sound-decoder.js';
import { PCM_ENCODINGS, type PcmEncoding } from './pcm-encoding.js';

/** Samples without a header, channels interleaved. */
export interface PcmFormat {
  /** How a sample is stored. */
  readonly encoding: PcmEncoding;
  /** Samples per second and channel. */
  readonly sampleRate: number;
  /** Number of interleaved channels. */
  readonly channelCount: number;
}

/** Reads interleaved samples of a known format. */
export class PcmDecoder implements SoundDecoder {
  readonly #context: DecodeContext;
  readonly #format: PcmFormat;
  readonly #frameBytes: number;
  /** The start of a frame whose rest has not arrived yet. */
  #rest = new Uint8Array(0);

  constructor(format: PcmFormat, context: DecodeContext) {
    this.#context = context;
    this.#format = format;
    this.#frameBytes = PCM_ENCODINGS[format.encoding].sampleBytes * format.channelCount;
  }

  *push(bytes: Uint8Array): Generator<SamplePiece> {
    let whole = bytes;
    if (this.#rest.length > 0) {
      whole = new Uint8Array(this.#rest.length + bytes.length);
      whole.set(this.#rest);
      whole.set(bytes, this.#rest.length);
    }
    const frameCount = Math.floor(whole.length / this.#frameBytes);
    this.#rest = whole.slice(frameCount * this.#frameBytes);
    if (frameCount > 0) yield this.#read(whole, frameCount);
  }

  finish(): readonly SamplePiece[] {
    if (this.#rest.length > 0) checkTruncated(this.#context, 'the last sample is incomplete');
    return [];
  }

  close(): void {}

  /** Refuses data of a stated size that is longer than the caller allows. */
  checkStated(dataBytes: number): void {
    checkLength(this.#context, Math.floor(dataBytes / this.#frameBytes), this.#format.sampleRate);
  }

  #read(bytes: Uint8Array, frameCount: number): SamplePiece {
    const { encoding, channelCount, sampleRate } = this.#format;
    const { sampleBytes, read } = PCM_ENCODINGS[encoding];
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    const channels = Array.from({ length: channelCount }, (_, channel) => {
      const samples = new Float32Array(frameCount);
      let at = channel * sampleBytes;
      for (let frame = 0; frame < frameCount; frame += 1, at += this.#frameBytes)
        samples[frame] = read(view, at);
      return samples;
    });
    return { sampleRate, channels };
  }
}
