/** How each output sample of one axis is summed from input samples, in fixed point. */
export interface ResampleAxis {
  readonly outputs: number;
  /** Input samples of one output, padded to a multiple of four: the length of a row of `weights`. */
  readonly taps: number;
  /** [outputs]: first input sample. */
  readonly starts: Int32Array;
  /** [outputs, taps]: weights times 2^fractionBits; zeros after the last sample. */
  readonly weights: Int16Array;
  /** p, the fraction bits of a weight. */
  readonly fractionBits: number;
}

/** The cubic reaches two samples to each side. */
const REACH = 2;
const SHARPNESS = -0.5;
const TAP_GROUP = 4;
const MOST_FRACTION_BITS = 22;
const WEIGHT_LIMIT = 2 ** 15;

/**
 * Antialiased bicubic weights from `inputs` to `outputs` samples.
 *
 * With scale = inputs / outputs, s = max(scale, 1), c = (i + 0.5) scale: output i takes the input samples j from
 * `max(int(c - 2 s + 0.5), 0)` to below `min(int(c + 2 s + 0.5), inputs)` with `cubic((j + 0.5 - c) / s)`, normalised to
 * the sum 1 and rounded to p fraction bits; p is the largest, up to 22, that keeps the largest weight below 2^15.
 */
export function resampleAxis(inputs: number, outputs: number): ResampleAxis {
  const scale = inputs / outputs;
  const stretch = Math.max(scale, 1);
  const mostTaps = Math.min(Math.ceil(2 * REACH * stretch) + 1, inputs);
  const taps = Math.ceil(mostTaps / TAP_GROUP) * TAP_GROUP;
  const starts = new Int32Array(outputs);
  const exact = new Float64Array(outputs * taps);
  let largest = 0;
  for (let output = 0; output < outputs; output++) {
    const centre = (output + 0.5) * scale;
    const start = Math.max(Math.trunc(centre - REACH * stretch + 0.5), 0);
    const end = Math.min(Math.trunc(centre + REACH * stretch + 0.5), inputs);
    const row = exact.subarray(output * taps, output * taps + end - start);
    let sum = 0;
    for (let tap = 0; tap < row.length; tap++) {
      row[tap] = cubic((start + tap + 0.5 - centre) / stretch);
      sum += row[tap]!;
    }
    for (let tap = 0; tap < row.length; tap++) {
      row[tap]! /= sum;
      largest = Math.max(largest, row[tap]!);
    }
    starts[output] = start;
  }
  const fractionBits = fractionBitsFor(largest);
  const weights = new Int16Array(exact.length);
  for (let index = 0; index < exact.length; index++) {
    weights[index] = roundHalfAway(exact[index]! * 2 ** fractionBits);
  }
  return { outputs, taps, starts, weights, fractionBits };
}

function fractionBitsFor(largestWeight: number): number {
  let bits = 0;
  while (bits < MOST_FRACTION_BITS && Math.trunc(0.5 + largestWeight * 2 ** (bits + 1)) < WEIGHT_LIMIT)
    bits++;
  return bits;
}

/** Keys' cubic convolution with a = -0.5. */
function cubic(distance: number): number {
  const x = Math.abs(distance);
  if (x < 1) return ((SHARPNESS + 2) * x - (SHARPNESS + 3)) * x * x + 1;
  if (x < 2) return (((x - 5) * x + 8) * x - 4) * SHARPNESS;
  return 0;
}

function roundHalfAway(value: number): number {
  return value < 0 ? Math.ceil(value - 0.5) : Math.floor(value + 0.5);
}
