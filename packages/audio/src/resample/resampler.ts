import { InvalidArgumentError } from '@markbase/core';
import { greatestCommonDivisor, type PolyphaseTaps, polyphaseTaps } from './polyphase-taps.js';

/** Lowest and highest plausible sample rate, in Hz. */
export const SAMPLE_RATE_LIMITS = { min: 1_000, max: 768_000 } as const;

/**
 * Changes the sample rate of a stream: band-limited, and without a seam between pieces. The joined output has the same bits
 * as that of one `push` of the whole. `n` samples become `ceil(n · outputRate / inputRate)`, and sample k of the output is
 * at time `k / outputRate`: the filter has linear phase, and its delay is compensated.
 *
 * At equal rates samples pass unchanged.
 */
export class Resampler {
  /** Samples per second of the input. */
  readonly inputRate: number;
  /** Samples per second of the output. */
  readonly outputRate: number;
  readonly #filter: PolyphaseTaps | null;
  /** Reduced ratio: output sample k lies at input position `k · step / places`. */
  readonly #places: number;
  readonly #step: number;
  #kept: Float32Array = new Float32Array(0);
  /** Input position of `#kept[0]`. */
  #keptStart: number;
  #received = 0;
  #produced = 0;
  /** Place of the next output sample: `#position + #place / #places` input samples from the beginning. */
  #position = 0;
  #place = 0;
  #isFinished = false;

  /** @throws InvalidArgumentError when a rate is not a whole number of Hz from 1,000 to 768,000 */
  constructor(inputRate: number, outputRate: number) {
    this.inputRate = checkRate('inputRate', inputRate);
    this.outputRate = checkRate('outputRate', outputRate);
    const divisor = greatestCommonDivisor(inputRate, outputRate);
    this.#places = outputRate / divisor;
    this.#step = inputRate / divisor;
    this.#filter = inputRate === outputRate ? null : polyphaseTaps(inputRate, outputRate);
    const lead = this.#filter?.lead ?? 0;
    this.#kept = new Float32Array(lead);
    this.#keptStart = -lead;
  }

  /** Takes the next samples of one channel and returns the output samples that they complete. */
  push(samples: Float32Array): Float32Array {
    if (this.#isFinished) {
      throw new InvalidArgumentError({
        argument: 'samples',
        expected: 'none after finish()',
        received: samples.length,
      });
    }
    this.#received += samples.length;
    if (this.#filter === null) return samples;
    const follow = this.#filter.tapCount - this.#filter.lead - 1;
    return this.#advance(samples, this.#filter, this.#received - follow);
  }

  /** The last samples, computed with silence after the end. */
  finish(): Float32Array {
    if (this.#isFinished || this.#filter === null) return new Float32Array(0);
    this.#isFinished = true;
    return this.#advance(new Float32Array(this.#filter.tapCount), this.#filter, this.#received);
  }

  /** Output samples before input position `end`. */
  #advance(samples: Float32Array, filter: PolyphaseTaps, end: number): Float32Array {
    const input = new Float32Array(this.#kept.length + samples.length);
    input.set(this.#kept);
    input.set(samples, this.#kept.length);
    const output = new Float32Array(
      Math.max(0, Math.ceil((end * this.#places) / this.#step) - this.#produced),
    );
    for (let k = 0; k < output.length; k += 1) {
      const from = this.#position - filter.lead - this.#keptStart;
      const phase = (this.#place * filter.phaseCount) / this.#places;
      output[k] =
        filter.phaseCount === this.#places
          ? dot(input, from, filter.taps, phase * filter.tapCount, filter.tapCount)
          : between(input, from, filter, phase);
      const place = this.#place + this.#step;
      this.#position += Math.floor(place / this.#places);
      this.#place = place % this.#places;
    }
    this.#produced += output.length;
    const first = this.#position - filter.lead;
    this.#kept = input.slice(first - this.#keptStart);
    this.#keptStart = first;
    return output;
  }
}

function between(input: Float32Array, from: number, filter: PolyphaseTaps, phase: number): number {
  const row = Math.floor(phase);
  const share = phase - row;
  const { taps, tapCount } = filter;
  const low = dot(input, from, taps, row * tapCount, tapCount);
  return low + share * (dot(input, from, taps, (row + 1) * tapCount, tapCount) - low);
}

/** `Σ_j input[from + j] · taps[at + j]`; four sums side by side, because each waits for its own last addition. `count` is even. */
function dot(input: Float32Array, from: number, taps: Float64Array, at: number, count: number): number {
  let a = 0;
  let b = 0;
  let c = 0;
  let d = 0;
  let j = 0;
  for (; j + 3 < count; j += 4) {
    a += input[from + j]! * taps[at + j]!;
    b += input[from + j + 1]! * taps[at + j + 1]!;
    c += input[from + j + 2]! * taps[at + j + 2]!;
    d += input[from + j + 3]! * taps[at + j + 3]!;
  }
  if (j < count) {
    a += input[from + j]! * taps[at + j]!;
    b += input[from + j + 1]! * taps[at + j + 1]!;
  }
  return a + b + (c + d);
}

/**
 * Requires a plausible sample rate, and returns it.
 *
 * @throws InvalidArgumentError for another number
 */
export function checkRate(argument: string, rate: number): number {
  const { min, max } = SAMPLE_RATE_LIMITS;
  if (Number.isInteger(rate) && rate >= min && rate <= max) return rate;
  throw new InvalidArgumentError({
    argument,
    expected: `a whole number of Hz from ${min} to ${max}`,
    received: rate,
  });
}
