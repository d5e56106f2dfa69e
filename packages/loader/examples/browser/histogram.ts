/** A histogram: counts of values in equal steps between the smallest and the largest. */
export interface Histogram {
  readonly counts: readonly number[];
  readonly least: number;
  readonly greatest: number;
  /** NaN and infinities, which have no place on the axis. */
  readonly nonFiniteCount: number;
}

/** Counts values into `stepCount` steps; if no value is finite, least and greatest are 0. */
export function histogramOf(values: Float32Array, stepCount: number): Histogram {
  let least = Number.POSITIVE_INFINITY;
  let greatest = Number.NEGATIVE_INFINITY;
  let nonFiniteCount = 0;
  for (const value of values) {
    if (!Number.isFinite(value)) nonFiniteCount++;
    else {
      least = Math.min(least, value);
      greatest = Math.max(greatest, value);
    }
  }
  if (nonFiniteCount === values.length) [least, greatest] = [0, 0];
  const counts = Array.from({ length: stepCount }, () => 0);
  const stepsPerUnit = greatest > least ? stepCount / (greatest - least) : 0;
  for (const value of values) {
    if (!Number.isFinite(value)) continue;
    const step = Math.min(stepCount - 1, Math.floor((value - least) * stepsPerUnit));
    counts[step] = counts[step]! + 1;
  }
  return { counts, least, greatest, nonFiniteCount };
}
