import { MEL_BINS, MEL_STEP, MelSpectrum } from './mel-spectrum.js';

/**
 * The valid rows of `logMel`, as soon as the samples that they need have arrived: the same bits for pieces of any size. A
 * row is complete 10 ms of audio after its centre.
 */
export class MelStream {
  readonly #spectrum = new MelSpectrum();
  /** Samples from `#firstSample` on that rows to come look at. */
  #kept: Float32Array = new Float32Array(0);
  #firstSample = 0;
  #nextFrame = 0;

  /** Number of rows returned so far. */
  get frameCount(): number {
    return this.#nextFrame;
  }

  /**
   * Takes the next samples and returns the rows that they complete, `[k, 128]` with k from 0.
   *
   * @param samples mono, 16 kHz, any number
   */
  push(samples: Float32Array): Float32Array {
    const joined = new Float32Array(this.#kept.length + samples.length);
    joined.set(this.#kept);
    joined.set(samples, this.#kept.length);
    const end = this.#firstSample + joined.length;
    // Frame i is valid once sample 160(i+1) has arrived.
    const complete = Math.max(this.#nextFrame, Math.ceil(end / MEL_STEP) - 1);
    const rows = new Float32Array((complete - this.#nextFrame) * MEL_BINS);
    for (let at = 0; this.#nextFrame < complete; this.#nextFrame += 1, at += MEL_BINS) {
      const from = (this.#nextFrame - 1) * MEL_STEP;
      this.#spectrum.writeRow(joined, from - this.#firstSample, rows, at);
    }
    const needed = Math.max(0, (this.#nextFrame - 1) * MEL_STEP);
    this.#kept = joined.slice(needed - this.#firstSample);
    this.#firstSample = needed;
    return rows;
  }
}
