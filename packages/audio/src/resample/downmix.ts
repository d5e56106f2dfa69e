/**
 * One channel from several: their mean, so that nothing gets louder than 1. One channel passes unchanged, as a view.
 *
 * @param channels at least one, all of one length
 */
export function downmix(channels: readonly Float32Array[]): Float32Array {
  if (channels.length === 1) return channels[0]!;
  const [first, ...others] = channels as [Float32Array, ...Float32Array[]];
  const sums = Float64Array.from(first);
  for (const samples of others) {
    for (let j = 0; j < sums.length; j += 1) sums[j] = sums[j]! + samples[j]!;
  }
  const mixed = new Float32Array(sums.length);
  const share = 1 / channels.length;
  for (let j = 0; j < sums.length; j += 1) mixed[j] = sums[j]! * share;
  return mixed;
}
