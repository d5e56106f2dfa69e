import { kaiserSinc } from './kaiser-sinc.js';

/** Phases of the largest exact table; rates that share few factors get this many, and values between them. */
const MAX_PHASES = 512;

/** Taps of the low-pass filter for every position of an output sample between two input samples. */
export interface PolyphaseTaps {
  /** Input samples that contribute to one output sample. */
  readonly tapCount: number;
  /** Number of those before the input sample at or before the output sample's position. */
  readonly lead: number;
  /** Number of phases; an output sample `p / phaseCount` after an input sample uses the taps of row p. */
  readonly phaseCount: number;
  /** `[phaseCount + 1, tapCount]`: the extra row gives the last phase a next one. */
  readonly taps: Float64Array;
}

/** Tables of the last ratios: making one takes as long as resampling some seconds, and it never changes. */
const recent = new Map<string, PolyphaseTaps>();
const RECENT_COUNT = 4;

/**
 * The taps for `inputRate → outputRate`.
 *
 * With `L / M` the reduced ratio of the rates there are L places. More than 512 of them are served by 512 rows, between which
 * taps are interpolated: the error is below -110 dB.
 */
export function polyphaseTaps(inputRate: number, outputRate: number): PolyphaseTaps {
  const key = `${inputRate}/${outputRate}`;
  const known = recent.get(key);
  if (known) return known;
  const made = makeTaps(inputRate, outputRate);
  if (recent.size === RECENT_COUNT) recent.delete([...recent.keys()][0]!);
  recent.set(key, made);
  return made;
}

function makeTaps(inputRate: number, outputRate: number): PolyphaseTaps {
  const filter = kaiserSinc(outputRate / inputRate);
  const phaseCount = Math.min(MAX_PHASES, outputRate / greatestCommonDivisor(inputRate, outputRate));
  const lead = Math.ceil(filter.reach) - 1;
  const tapCount = 2 * (lead + 1);
  const taps = new Float64Array((phaseCount + 1) * tapCount);
  for (let phase = 0; phase <= phaseCount; phase += 1) {
    const row = taps.subarray(phase * tapCount, (phase + 1) * tapCount);
    for (let j = 0; j < tapCount; j += 1) row[j] = filter.at(j - lead - phase / phaseCount);
    normalize(row);
  }
  return { tapCount, lead, phaseCount, taps };
}

/** The greatest whole number that divides both. */
export function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b);
}

/** Makes the gain at 0 Hz exactly 1 in every phase, so that a constant stays one. */
function normalize(row: Float64Array): void {
  const sum = row.reduce((total, tap) => total + tap, 0);
  for (let j = 0; j < row.length; j += 1) row[j] = row[j]! / sum;
}
