/** A reproducible generator of numbers in [0, 1): mulberry32. */
export function randomSource(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t = (t + Math.imul(t ^ (t >>> 7), t | 61)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Normally distributed float32 numbers with standard deviation `scale`. */
export function normalArray(seed: number, count: number, scale = 1): Float32Array {
  const next = randomSource(seed);
  const numbers = new Float32Array(count);
  for (let i = 0; i < count; i++) {
    const radius = Math.sqrt(-2 * Math.log(1 - next()));
    numbers[i] = scale * radius * Math.cos(2 * Math.PI * next());
  }
  return numbers;
}

/** Whole numbers in [0, limit). */
export function integerArray(seed: number, count: number, limit: number): Int32Array {
  const next = randomSource(seed);
  const numbers = new Int32Array(count);
  for (let i = 0; i < count; i++) numbers[i] = Math.floor(next() * limit);
  return numbers;
}
