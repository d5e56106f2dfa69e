/** Candidate places are 10 ms apart. */
const STEP = 160;
/** A place is as quiet as the 200 ms around it, so that a stop within a word, which is shorter, does not win over a pause. */
const REACH_STEPS = 10;

/** Samples needed after a place. */
const QUIET_REACH = REACH_STEPS * STEP;

/**
 * The quietest place to cut at: the index with the least variance of the samples `[index - 1600, index + 1600)`, among
 * every 160th one from `end - 1600` down to `begin`. Of equally quiet places the last one wins. A constant offset does not
 * count as loudness.
 *
 * @param samples at least `end` samples
 * @param begin first candidate place; at least 1600 below `end - 1600`, or the last place is taken
 * @param end number of samples to consider
 */
export function quietPlace(samples: Float32Array, begin: number, end: number): number {
  const last = end - QUIET_REACH;
  const count = Math.max(0, Math.floor((last - Math.max(begin, QUIET_REACH)) / STEP));
  const first = last - count * STEP;
  const sums = new Float64Array(count + 2 * REACH_STEPS);
  const squares = new Float64Array(count + 2 * REACH_STEPS);
  for (let step = 0; step < sums.length; step += 1) {
    const from = first - QUIET_REACH + step * STEP;
    for (let j = from; j < from + STEP; j += 1) {
      const sample = samples[j]!;
      sums[step] = sums[step]! + sample;
      squares[step] = squares[step]! + sample * sample;
    }
  }
  let place = last;
  let least = Number.POSITIVE_INFINITY;
  for (let index = count; index >= 0; index -= 1) {
    let sum = 0;
    let square = 0;
    for (let step = index; step < index + 2 * REACH_STEPS; step += 1) {
      sum += sums[step]!;
      square += squares[step]!;
    }
    const variance = Math.max(0, square - (sum * sum) / (2 * QUIET_REACH));
    if (variance < least) {
      least = variance;
      place = first + index * STEP;
    }
  }
  return place;
}
