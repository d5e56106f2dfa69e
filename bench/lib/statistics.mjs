/** Median, smallest and largest of a list of numbers. */
export function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  const median = sorted.length % 2 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
  return { median, min: sorted[0], max: sorted.at(-1) };
}

/** `median (min to max)`. */
export function shown({ median, min, max }) {
  const digits = max < 10 ? 2 : 1;
  return `${median.toFixed(digits)} (${min.toFixed(digits)} to ${max.toFixed(digits)})`;
}

/** Percentiles of a list of numbers; null if it is empty. */
export function percentiles(values) {
  if (values.length === 0) return null;
  const sorted = [...values].sort((a, b) => a - b);
  const at = (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
  return { p50: at(0.5), p90: at(0.9), p99: at(0.99), max: sorted.at(-1), count: sorted.length };
}

/** Growth of `megabytes` over `minutes`, by least squares; null with fewer than two samples. */
export function slopePerMinute(samples) {
  if (samples.length < 2) return null;
  const mean = (pick) => samples.reduce((sum, sample) => sum + pick(sample), 0) / samples.length;
  const [x, y] = [mean(({ minutes }) => minutes), mean(({ megabytes }) => megabytes)];
  const above = samples.reduce((sum, { minutes, megabytes }) => sum + (minutes - x) * (megabytes - y), 0);
  const below = samples.reduce((sum, { minutes }) => sum + (minutes - x) ** 2, 0);
  return below === 0 ? null : above / below;
}
