/** Difference between values and their reference. */
export interface Difference {
  /** Root mean square of the difference, relative to that of the reference. */
  readonly relRms: number;
  /** Largest absolute difference. */
  readonly maxAbs: number;
  /** False when a value is NaN or infinite. */
  readonly isAllFinite: boolean;
}

/** Compares two arrays of equal length. */
export function compare(actual: Float32Array, expected: Float32Array): Difference {
  let errorSum = 0;
  let referenceSum = 0;
  let maxAbs = actual.length === expected.length ? 0 : Number.POSITIVE_INFINITY;
  let isAllFinite = true;
  for (let index = 0; index < expected.length; index++) {
    const value = actual[index] ?? Number.NaN;
    const error = Math.abs(value - expected[index]!);
    if (!Number.isFinite(value)) isAllFinite = false;
    errorSum += error * error;
    referenceSum += expected[index]! * expected[index]!;
    if (error > maxAbs) maxAbs = error;
  }
  const relRms = errorSum === 0 ? 0 : Math.sqrt(errorSum / referenceSum);
  return {
    relRms: isAllFinite ? relRms : Number.NaN,
    maxAbs: isAllFinite ? maxAbs : Number.NaN,
    isAllFinite,
  };
}

/** Median of the rows' relative differences: a few rows that rounding tipped into another choice do not make a good layer look bad. */
export function compareRows(actual: Float32Array, expected: Float32Array, width: number): Difference {
  const whole = compare(actual, expected);
  const rows = Array.from({ length: expected.length / width }, (_, row) => {
    const slice = (array: Float32Array) => array.subarray(row * width, (row + 1) * width);
    return compare(slice(actual), slice(expected)).relRms;
  });
  rows.sort((a, b) => a - b);
  return { ...whole, relRms: whole.isAllFinite ? rows[Math.floor(rows.length / 2)]! : Number.NaN };
}

/** The worst of several differences. */
export function worst(differences: readonly Difference[]): Difference {
  return {
    relRms: Math.max(...differences.map((difference) => difference.relRms)),
    maxAbs: Math.max(...differences.map((difference) => difference.maxAbs)),
    isAllFinite: differences.every((difference) => difference.isAllFinite),
  };
}

/** Index of the largest value; the lowest index among equals. */
export function argmax(values: Float32Array): number {
  let best = 0;
  for (let index = 1; index < values.length; index++) if (values[index]! > values[best]!) best = index;
  return best;
}
