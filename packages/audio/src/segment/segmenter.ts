import { InvalidArgumentError } from '@markbase/core';
import { AUDIO_SAMPLE_RATE_HZ } from '@markbase/loader';
import { quietPlace } from './quiet-place.js';
import type { AudioSegment } from './segment.js';
import { type SegmentLimits, type SegmentOptions, segmentLimits } from './segment-options.js';

/**
 * Cuts audio into segments that go through the model one by one.
 *
 * Audio of up to `maxSeconds` is one segment. Longer audio is cut at the quietest place of the last `searchSeconds` before
 * the limit (see `quietPlace`), and the rest is treated the same way. A cut depends only on the samples of the segment:
 * pieces of any size yield the segments of the whole. No segment is shorter than 0.1 s, unless the whole audio is.
 */
export class Segmenter {
  readonly #limits: SegmentLimits;
  /** Samples of the current segment, and one more, which shows that it is too long. */
  #waiting = new Float32Array(0);
  #count = 0;
  #index = 0;
  #startSample = 0;

  /** @throws InvalidArgumentError when an option is out of range */
  constructor(options: SegmentOptions = {}) {
    this.#limits = segmentLimits(options);
  }

  /** Seconds of audio received so far. */
  get seconds(): number {
    return (this.#startSample + this.#count) / AUDIO_SAMPLE_RATE_HZ;
  }

  /**
   * Takes the next samples and returns the segments that they complete.
   *
   * @param samples mono, 16 kHz, any number; they are copied
   * @throws InvalidArgumentError when the audio is longer than `maxSeconds` and `longer` is 'refuse'
   */
  push(samples: Float32Array): AudioSegment[] {
    const segments: AudioSegment[] = [];
    const { maxSamples } = this.#limits;
    for (let at = 0; at < samples.length; ) {
      const count = Math.min(samples.length - at, maxSamples + 1 - this.#count);
      this.#append(samples.subarray(at, at + count));
      at += count;
      if (this.#count > maxSamples) segments.push(this.#cut());
    }
    return segments;
  }

  /** The last segment; none if every sample is in an earlier one. Afterwards the segmenter can be reused for other audio. */
  finish(): AudioSegment[] {
    const segments = this.#count > 0 ? [this.#take(this.#count)] : [];
    this.#index = 0;
    this.#startSample = 0;
    this.#waiting = new Float32Array(0);
    return segments;
  }

  #append(samples: Float32Array): void {
    const needed = this.#count + samples.length;
    if (needed > this.#waiting.length) {
      const grown = new Float32Array(Math.min(2 * needed, this.#limits.maxSamples + 1));
      grown.set(this.#waiting.subarray(0, this.#count));
      this.#waiting = grown;
    }
    this.#waiting.set(samples, this.#count);
    this.#count = needed;
  }

  #cut(): AudioSegment {
    const { maxSamples, searchSamples, longer } = this.#limits;
    if (longer === 'refuse') {
      throw new InvalidArgumentError({
        argument: 'audio',
        expected: `at most ${maxSamples / AUDIO_SAMPLE_RATE_HZ} s`,
        received: 'more',
        hint: 'Cut it yourself, or pass `longer: "split"`',
      });
    }
    return this.#take(quietPlace(this.#waiting, maxSamples - searchSamples, maxSamples));
  }

  #take(count: number): AudioSegment {
    const startSample = this.#startSample;
    const segment: AudioSegment = {
      index: this.#index,
      startSample,
      startSeconds: startSample / AUDIO_SAMPLE_RATE_HZ,
      endSeconds: (startSample + count) / AUDIO_SAMPLE_RATE_HZ,
      samples: this.#waiting.slice(0, count),
    };
    this.#waiting.copyWithin(0, count, this.#count);
    this.#count -= count;
    this.#index += 1;
    this.#startSample += count;
    return segment;
  }
}
