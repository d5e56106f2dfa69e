/** Code points, as ordered and disjoint ranges, ends included. */
export type CharacterSet = readonly (readonly [low: number, high: number])[];

/** The largest code point. */
export const LAST_CODE = 0x10ffff;
/** Every code point. Surrogates are included, but no text spells them. */
export const ANY_CHARACTER: CharacterSet = [[0, LAST_CODE]];

/** The union of sets. */
export function unionOf(sets: readonly CharacterSet[]): CharacterSet {
  const sorted = sets.flat().sort((a, b) => a[0] - b[0]);
  const result: [number, number][] = [];
  for (const [low, high] of sorted) {
    const last = result.at(-1);
    if (last && low <= last[1] + 1) last[1] = Math.max(last[1], high);
    else result.push([low, high]);
  }
  return result;
}

/** The complement of a set. */
export function complementOf(set: CharacterSet): CharacterSet {
  const result: [number, number][] = [];
  let next = 0;
  for (const [low, high] of set) {
    if (low > next) result.push([next, low - 1]);
    next = high + 1;
  }
  if (next <= LAST_CODE) result.push([next, LAST_CODE]);
  return result;
}
