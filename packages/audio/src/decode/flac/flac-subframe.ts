import type { BitReader } from './bit-reader.js';

/** Weights of the fixed predictors of order 0 to 4, for the samples 1, 2, 3, … back. */
const FIXED_WEIGHTS: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/**
 * Reads the samples of one channel of a frame: constant, verbatim, or predicted with a coded residual.
 *
 * @param samples where they go; its length is the block size
 * @param bits width of a sample, one more for a difference of channels
 * @returns null, or what is wrong
 */
export function readSubframe(reader: BitReader, samples: Float64Array, bits: number): string | null {
  if (reader.bits(1) !== 0) return 'a subframe does not begin with 0';
  const type = reader.bits(6);
  const wasted = reader.bits(1) === 1 ? reader.unary() + 1 : 0;
  const width = bits - wasted;
  if (width < 1) return `${wasted} of ${bits} bits are unused`;
  const problem = readCoded(reader, samples, type, width);
  if (problem === null && wasted > 0) {
    const scale = 2 ** wasted;
    for (let j = 0; j < samples.length; j += 1) samples[j] = samples[j]! * scale;
  }
  return problem;
}

function readCoded(reader: BitReader, samples: Float64Array, type: number, width: number): string | null {
  if (type === 0) {
    samples.fill(reader.signed(width));
    return null;
  }
  if (type === 1) {
    for (let j = 0; j < samples.length; j += 1) samples[j] = reader.signed(width);
    return null;
  }
  if (type >= 8 && type <= 12) return readFixed(reader, samples, type - 8, width);
  if (type >= 32) return readPredicted(reader, samples, type - 31, width);
  return `subframe type ${type} is reserved`;
}

function readFixed(reader: BitReader, samples: Float64Array, order: number, width: number): string | null {
  const problem = readWarmUp(reader, samples, order, width) ?? readResidual(reader, samples, order);
  if (problem === null) predict(samples, FIXED_WEIGHTS[order]!, 0);
  return problem;
}

function readPredicted(
  reader: BitReader,
  samples: Float64Array,
  order: number,
  width: number,
): string | null {
  const short = readWarmUp(reader, samples, order, width);
  if (short !== null) return short;
  const precision = reader.bits(4) + 1;
  if (precision === 16) return 'a precision of 16 bits is reserved';
  const shift = reader.signed(5);
  if (shift < 0) return `a prediction shift of ${shift}`;
  const weights = Array.from({ length: order }, () => reader.signed(precision));
  const problem = readResidual(reader, samples, order);
  if (problem === null) predict(samples, weights, shift);
  return problem;
}

function readWarmUp(reader: BitReader, samples: Float64Array, order: number, width: number): string | null {
  if (order > samples.length) return `a predictor of order ${order} for ${samples.length} samples`;
  for (let j = 0; j < order; j += 1) samples[j] = reader.signed(width);
  return null;
}

/** Adds to each residual the prediction from the samples before it; products and sums stay exact in float64. */
function predict(samples: Float64Array, weights: readonly number[], shift: number): void {
  const order = weights.length;
  const packed = Float64Array.from(weights);
  const scale = 2 ** -shift;
  for (let at = order; at < samples.length; at += 1) {
    let sum = 0;
    for (let j = 0; j < order; j += 1) sum += packed[j]! * samples[at - 1 - j]!;
    samples[at] = samples[at]! + Math.floor(sum * scale);
  }
}

/** Reads the residual into `samples[order …]`: partitions of Rice codes, each with its own parameter. */
function readResidual(reader: BitReader, samples: Float64Array, order: number): string | null {
  const method = reader.bits(2);
  if (method > 1) return `residual coding ${method} is reserved`;
  const parameterBits = method === 0 ? 4 : 5;
  const uncoded = 2 ** parameterBits - 1;
  const partitionCount = 2 ** reader.bits(4);
  const partitionSize = samples.length / partitionCount;
  if (!Number.isInteger(partitionSize) || partitionSize < order) {
    return `${partitionCount} partitions of ${samples.length} samples`;
  }
  let at = order;
  for (let partition = 1; partition <= partitionCount; partition += 1) {
    const end = partition * partitionSize;
    const parameter = reader.bits(parameterBits);
    if (parameter === uncoded) {
      const width = reader.bits(5);
      for (; at < end; at += 1) samples[at] = width === 0 ? 0 : reader.signed(width);
    } else {
      const factor = 2 ** parameter;
      for (; at < end; at += 1) {
        const folded = reader.unary() * factor + reader.bits(parameter);
        samples[at] = folded % 2 === 0 ? folded / 2 : -(folded + 1) / 2;
      }
    }
  }
  return null;
}
