/** Reproducible random numbers in [0, 1) (a 32-bit linear congruential generator with mixed output). */
export function randomSource(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    let mixed = state ^ (state >>> 16);
    mixed = Math.imul(mixed, 0x45d9f3b) >>> 0;
    return ((mixed ^ (mixed >>> 16)) >>> 0) / 2 ** 32;
  };
}

/** White noise in [-amplitude, amplitude]. */
export function noise(count: number, seed: number, amplitude = 0.5): Float32Array {
  const random = randomSource(seed);
  return Float32Array.from({ length: count }, () => (2 * random() - 1) * amplitude);
}

/** A sine of constant frequency. */
export function sine(count: number, hertz: number, sampleRate: number, amplitude = 0.5): Float32Array {
  return Float32Array.from(
    { length: count },
    (_, index) => amplitude * Math.sin((2 * Math.PI * hertz * index) / sampleRate),
  );
}

/** A sine whose frequency changes linearly from one value to another. */
export function sweep(
  count: number,
  fromHertz: number,
  toHertz: number,
  sampleRate: number,
  amplitude = 0.5,
): Float32Array {
  const seconds = count / sampleRate;
  return Float32Array.from({ length: count }, (_, index) => {
    const t = index / sampleRate;
    const phase = 2 * Math.PI * (fromHertz * t + ((toHertz - fromHertz) * t * t) / (2 * seconds));
    return amplitude * Math.sin(phase);
  });
}

/** Splits samples into chunks of the given sizes, cyclically. */
export function* cut(samples: Float32Array, sizes: readonly number[]): Generator<Float32Array> {
  for (let at = 0, piece = 0; at < samples.length; piece += 1) {
    const size = sizes[piece % sizes.length]!;
    yield samples.subarray(at, at + size);
    at += size;
  }
}

/** Root mean square. */
export function rms(samples: Float32Array): number {
  return Math.sqrt(samples.reduce((sum, value) => sum + value * value, 0) / Math.max(1, samples.length));
}
