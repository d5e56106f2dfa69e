import { DisposedError, InvalidArgumentError } from '@markbase/core';
import { AUDIO_SAMPLE_RATE_HZ } from '@markbase/loader';
import { checkPiece } from '../decode/check-piece.js';
import { pcmPieces } from '../decode/pcm-pieces.js';
import { downmix } from '../resample/downmix.js';
import { checkRate, Resampler } from '../resample/resampler.js';
import type { AudioSegment } from '../segment/segment.js';
import type { SegmentOptions } from '../segment/segment-options.js';
import { Segmenter } from '../segment/segmenter.js';

/** Format of a stream of samples, and how it is cut. */
export interface AudioStreamOptions extends SegmentOptions {
  /** Of the samples that will come, in Hz; default 16,000. */
  readonly sampleRate?: number;
}

/**
 * Turns sound that arrives in pieces, as from a microphone, into segments: mixed down, resampled and cut into the same
 * segments as `readSegments` returns for the whole sound.
 */
export class AudioStream {
  /** Samples per second of the input. */
  readonly sampleRate: number;
  readonly #resampler: Resampler;
  readonly #segmenter: Segmenter;
  #channelCount: number | null = null;
  #received = 0;
  #isFinished = false;

  /** @throws InvalidArgumentError when an option is out of range */
  constructor(options: AudioStreamOptions = {}) {
    this.sampleRate = checkRate('sampleRate', options.sampleRate ?? AUDIO_SAMPLE_RATE_HZ);
    this.#resampler = new Resampler(this.sampleRate, AUDIO_SAMPLE_RATE_HZ);
    this.#segmenter = new Segmenter(options);
  }

  /** Seconds of sound received so far. */
  get seconds(): number {
    return this.#received / this.sampleRate;
  }

  /**
   * Takes the next samples and returns the segments that they complete.
   *
   * @param samples one channel, or an array for each; any number of samples, in [-1, 1]; they are copied
   * @throws InvalidArgumentError for NaN, infinity, or another number of channels than before; or when the sound is longer than
   * `maxSeconds` and `longer` is 'refuse'; DisposedError after `finish`
   */
  push(samples: Float32Array | readonly Float32Array[]): AudioSegment[] {
    if (this.#isFinished) throw new DisposedError({ resource: 'audio stream', operation: 'push' });
    const channels = samples instanceof Float32Array ? [samples] : samples;
    if (channels[0]?.length === 0) return [];
    const source = { samples: channels, sampleRate: this.sampleRate };
    const segments: AudioSegment[] = [];
    for (const piece of pcmPieces(source)) {
      this.#checkChannels(piece.channels.length);
      checkPiece(piece, this.#received, source, { source: '(stream)' });
      this.#received += piece.channels[0]!.length;
      segments.push(...this.#segmenter.push(this.#resampler.push(downmix(piece.channels))));
    }
    return segments;
  }

  /** The remaining segments at the end of the sound. Nothing can be pushed afterwards. */
  finish(): AudioSegment[] {
    if (this.#isFinished) return [];
    this.#isFinished = true;
    return [...this.#segmenter.push(this.#resampler.finish()), ...this.#segmenter.finish()];
  }

  #checkChannels(channelCount: number): void {
    this.#channelCount ??= channelCount;
    if (channelCount === this.#channelCount) return;
    throw new InvalidArgumentError({
      argument: 'samples',
      expected: `${this.#channelCount} channels, as before`,
      received: channelCount,
    });
  }
}
