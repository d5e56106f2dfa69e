/** A triangular filter over the bins of a spectrum: `weights[j]` belongs to bin `firstBin + j`. */
export interface MelFilter {
  readonly firstBin: number;
  readonly weights: Float64Array;
}

/**
 * Triangular mel filters on the HTK scale, `mel(f) = 2595 · log10(1 + f / 700)`.
 *
 * `count + 2` points lie equally far apart in mel from 0 Hz to `maxHz`; filter i rises from point i to point i+1 and falls to
 * point i+2, as straight lines in Hz: `max(0, min((f - l) / (c - l), (r - f) / (r - c)))`. Areas are not normalised. A narrow
 * filter may lie between two bins and have no weights.
 *
 * @param binCount bins of the spectrum; the last one is at `maxHz`
 */
export function melFilters(count: number, binCount: number, maxHz: number): readonly MelFilter[] {
  const maxMel = hertzToMel(maxHz);
  const point = (index: number): number => melToHertz((maxMel * index) / (count + 1));
  const hertzPerBin = maxHz / (binCount - 1);
  return Array.from({ length: count }, (_, index) => {
    const left = point(index);
    const centre = point(index + 1);
    const right = point(index + 2);
    const firstBin = Math.max(0, Math.floor(left / hertzPerBin));
    const lastBin = Math.min(binCount - 1, Math.ceil(right / hertzPerBin));
    const weights = Float64Array.from({ length: lastBin - firstBin + 1 }, (_, j) => {
      const f = (firstBin + j) * hertzPerBin;
      return Math.max(0, Math.min((f - left) / (centre - left), (right - f) / (right - centre)));
    });
    return trimmed(firstBin, weights);
  });
}

function trimmed(firstBin: number, weights: Float64Array): MelFilter {
  const first = weights.findIndex((weight) => weight > 0);
  if (first < 0) return { firstBin, weights: new Float64Array(0) };
  const last = weights.findLastIndex((weight) => weight > 0);
  return { firstBin: firstBin + first, weights: weights.slice(first, last + 1) };
}

function hertzToMel(hertz: number): number {
  return 2595 * Math.log10(1 + hertz / 700);
}

function melToHertz(mel: number): number {
  return 700 * (10 ** (mel / 2595) - 1);
}
