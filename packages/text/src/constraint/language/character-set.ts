/** Code points, as ranges with both ends, in order and apart. */
export type CharacterSet = readonly (readonly [low: number, high: number])[];

/** Largest code point. */
export const LAST_CODE = 0x10ffff;
/** Every code point; surrogates stand for no character, and no text spells them. */
export const ANY_CHARACTER: CharacterSet = [[0, LAST_CODE]];

/** What is in any of some sets. */
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

/** What is not in a set. */
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
