import type { EncodedSegment } from './encoded-segment.js';
import type { AudioSegment } from './segment/segment.js';
import { AudioStream, type AudioStreamOptions } from './stream/audio-stream.js';

/** Encodes sound that arrives in pieces, segment by segment; made by `AudioModel.stream`. */
export class AudioEncoderStream {
  readonly #stream: AudioStream;
  readonly #encode: (segment: AudioSegment) => Promise<EncodedSegment>;

  /** @throws InvalidArgumentError when an option is out of range */
  constructor(options: AudioStreamOptions, encode: (segment: AudioSegment) => Promise<EncodedSegment>) {
    this.#stream = new AudioStream(options);
    this.#encode = encode;
  }

  /** Seconds of sound received so far. */
  get seconds(): number {
    return this.#stream.seconds;
  }

  /**
   * Takes the next samples and returns the segments that they complete, encoded; usually none.
   *
   * @param samples one channel, or an array for each; any number of samples, in [-1, 1]; they are copied
   * @throws as `AudioStream.push` and `AudioModel.encode`
   */
  push(samples: Float32Array | readonly Float32Array[]): Promise<EncodedSegment[]> {
    return this.#encodeAll(() => this.#stream.push(samples));
  }

  /** The remaining segments at the end of the sound. Nothing can be pushed afterwards. */
  finish(): Promise<EncodedSegment[]> {
    return this.#encodeAll(() => this.#stream.finish());
  }

  async #encodeAll(take: () => AudioSegment[]): Promise<EncodedSegment[]> {
    return Promise.all(take().map(this.#encode));
  }
}
