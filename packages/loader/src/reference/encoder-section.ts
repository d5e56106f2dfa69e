import { compare, compareRows } from './compare.js';
import { judgedSection, type VerifySection } from './report.js';

/** Largest relative rms for float32 arithmetic: rounding alone causes up to 2e-5, in logits of whole models. */
export const HIGH_TOLERANCE = 1e-4;
/** Median over the rows of a tower: 8-bit or bfloat16 activations through all layers cause about 2e-2. */
const FAST_TOLERANCE = 5e-2;

/**
 * Judges rows [S, D] of a tower or its soft tokens: as a whole in float32, else by the median over the rows.
 *
 * @param options.width D
 * @param options.isExact everything was computed in float32, from weights as they are stored
 */
export function encoderSection(
  name: string,
  actual: Float32Array,
  expected: Float32Array,
  { width, isExact }: { readonly width: number; readonly isExact: boolean },
): VerifySection {
  return isExact
    ? judgedSection(name, compare(actual, expected), HIGH_TOLERANCE)
    : judgedSection(name, compareRows(actual, expected, width), FAST_TOLERANCE);
}
