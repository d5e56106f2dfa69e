import { AUDIO_SAMPLE_RATE_HZ } from '@markbase/loader';
import { RealFft } from '../math/real-fft.js';
import { melFilters } from './mel-filters.js';

/** Mel bins of a frame. */
export const MEL_BINS = 128;
/** Samples that a frame covers: 20 ms. */
const MEL_WINDOW = 320;
/** Samples from one frame to the next: 10 ms. */
export const MEL_STEP = 160;
const FFT_SIZE = 512;
/** Keeps the logarithm of silence finite. */
const MEL_FLOOR = 0.001;

const window = Float64Array.from(
  { length: MEL_WINDOW },
  (_, j) => 0.5 - 0.5 * Math.cos((2 * Math.PI * j) / MEL_WINDOW),
);
const filters = melFilters(MEL_BINS, FFT_SIZE / 2 + 1, AUDIO_SAMPLE_RATE_HZ / 2);

/**
 * Log-mel rows: `row[b] = ln(Σ_k filter_b[k] · |FFT(window · samples)|[k] + 0.001)`, with a periodic Hann window of 320
 * samples, a transform of 512 and magnitudes, not powers.
 */
export class MelSpectrum {
  readonly #fft = new RealFft(FFT_SIZE);
  readonly #windowed = new Float64Array(MEL_WINDOW);
  readonly #magnitudes = new Float64Array(FFT_SIZE / 2 + 1);

  /** Writes the row of `samples[from, from + 320)` to `rows[at, at + 128)`; samples before the first one are zeros. */
  writeRow(samples: Float32Array, from: number, rows: Float32Array, at: number): void {
    const windowed = this.#windowed;
    for (let j = 0; j < MEL_WINDOW; j += 1) {
      const index = from + j;
      windowed[j] = index < 0 ? 0 : samples[index]! * window[j]!;
    }
    const magnitudes = this.#magnitudes;
    this.#fft.magnitudes(windowed, magnitudes);
    for (let bin = 0; bin < MEL_BINS; bin += 1) {
      const { firstBin, weights } = filters[bin]!;
      let sum = 0;
      for (let j = 0; j < weights.length; j += 1) sum += weights[j]! * magnitudes[firstBin + j]!;
      rows[at + bin] = Math.log(sum + MEL_FLOOR);
    }
  }
}
