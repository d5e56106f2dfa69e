/** Positions of consecutive rows, sound by sound. */
export function positionsOf(sounds: readonly number[]): Int32Array {
  return Int32Array.from(sounds.flatMap((rows) => Array.from({ length: rows }, (_, row) => row)));
}

/** A separate slot for every sound. */
export function slotsOf(sounds: readonly number[]): Int32Array {
  return Int32Array.from(sounds.flatMap((rows, slot) => new Array<number>(rows).fill(slot)));
}
