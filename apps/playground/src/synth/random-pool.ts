import { FLOAT_FORMATS, type FloatQuantizationMode, fromFloat32, quantizeFloat } from '@markbase/loader';

const POOL_WORDS = 1 << 22;
const PAIR_COUNT = 1 << 17;
const PIECE_BYTES = 4 << 20;
/** Sign, two bits of the exponent and the fraction: numbers below 1. */
const E4M3_BITS = 0xb7;
/** Root mean square of all codes of E2M1, and of those that E4M3_BITS leaves, by bits. */
const ELEMENT_DEVIATION = { 4: 2.9262, 8: 0.3784 } as const;

/**
 * Seeded random tensor data at disk speed: a pool is filled once with xorshift numbers, and a tensor consists of pieces
 * of the pool whose positions depend on the seed and the tensor's name.
 */
export class RandomPool {
  readonly #seed: number;
  readonly #words: Uint8Array;
  readonly #values = new Map<string, Uint8Array>();

  /** @param seed a whole number; the same seed yields the same bytes */
  constructor(seed: number) {
    this.#seed = seed;
    const words = new Uint32Array(POOL_WORDS);
    const next = xorshift(hash(seed, 'pool'));
    for (let index = 0; index < words.length; index += 1) words[index] = next();
    this.#words = new Uint8Array(words.buffer);
  }

  /** Random bytes; read as a bit stream, they are uniform codes of any width. */
  *codes(name: string, sizeBytes: number): Generator<Uint8Array> {
    yield* pieces(this.#words, 4, sizeBytes, xorshift(hash(this.#seed, name)));
  }

  /** Random numbers of E4M3 below 1: each of 32 magnitudes is equally likely, and none is NaN. */
  *smallFloats(name: string, sizeBytes: number): Generator<Uint8Array> {
    const pool = this.#cached('E4M3', () => this.#words.map((byte) => byte & E4M3_BITS));
    yield* pieces(pool, 4, sizeBytes, xorshift(hash(this.#seed, name)));
  }

  /** Scales of random small floats such that these have approximately this standard deviation. */
  *smallScales(
    name: string,
    count: number,
    mode: FloatQuantizationMode,
    deviation: number,
  ): Generator<Uint8Array> {
    const pool = this.#cached(`${mode} ${deviation}`, () => {
      const { groupSize, bits } = FLOAT_FORMATS[mode];
      const largest = bits === 8 ? 448 : 6;
      const groups = 4096;
      const values = new Float32Array(groups * groupSize);
      const next = xorshift(hash(this.#seed, 'pairs'));
      for (let group = 0; group < groups; group++) {
        const scale = (deviation / ELEMENT_DEVIATION[bits === 8 ? 8 : 4]) * (0.8 + 0.4 * (next() / 2 ** 32));
        values.fill(scale * largest, group * groupSize, (group + 1) * groupSize);
      }
      return quantizeFloat(values, groups, groupSize, mode).scales;
    });
    yield* pieces(pool, 1, count, xorshift(hash(this.#seed, name)));
  }

  /**
   * Scales and biases (bfloat16) for uniform codes, w = code · scale + bias, such that w has mean 0 and approximately
   * this standard deviation. Half of the scales are negative, as in real checkpoints.
   *
   * @param name name of the module: its scales and its biases must be requested with the same name
   */
  *scales(name: string, count: number, spread: { bits: number; deviation: number }): Generator<Uint8Array> {
    yield* this.#pairs(name, count, spread, 'scales');
  }

  /** The biases that belong to `scales`. */
  *biases(name: string, count: number, spread: { bits: number; deviation: number }): Generator<Uint8Array> {
    yield* this.#pairs(name, count, spread, 'biases');
  }

  /** bfloat16 values, uniform around `mean` with this standard deviation. */
  *uniform(name: string, count: number, spread: { mean: number; deviation: number }): Generator<Uint8Array> {
    const { mean, deviation } = spread;
    const pool = this.#cached(`uniform ${mean} ${deviation}`, () =>
      fill(
        PAIR_COUNT,
        hash(this.#seed, 'uniform'),
        (random) => mean + deviation * Math.sqrt(12) * (random() - 0.5),
      ),
    );
    yield* pieces(pool, 2, 2 * count, xorshift(hash(this.#seed, name)));
  }

  *#pairs(
    name: string,
    count: number,
    spread: { bits: number; deviation: number },
    which: 'scales' | 'biases',
  ): Generator<Uint8Array> {
    const { bits, deviation } = spread;
    const largest = 2 ** bits - 1;
    const step = deviation / Math.sqrt((4 ** bits - 1) / 12);
    // Scales and biases use the same random numbers, so that equal positions in both pools belong together.
    const factor = which === 'scales' ? 1 : -largest / 2;
    const pool = this.#cached(`${which} ${bits} ${deviation}`, () =>
      fill(PAIR_COUNT, hash(this.#seed, 'pairs'), (random) => {
        const sign = random() < 0.5 ? -1 : 1;
        return factor * sign * step * (0.8 + 0.4 * random());
      }),
    );
    yield* pieces(pool, 2, 2 * count, xorshift(hash(this.#seed, name)));
  }

  #cached(key: string, make: () => Uint8Array): Uint8Array {
    const known = this.#values.get(key);
    if (known) return known;
    const made = make();
    this.#values.set(key, made);
    return made;
  }
}

/** Yields `sizeBytes` from a pool in pieces, each starting at a random element. */
function* pieces(
  pool: Uint8Array,
  elementBytes: number,
  sizeBytes: number,
  next: () => number,
): Generator<Uint8Array> {
  const pieceBytes = Math.min(PIECE_BYTES, pool.length / 2);
  for (let done = 0; done < sizeBytes; done += pieceBytes) {
    const length = Math.min(pieceBytes, sizeBytes - done);
    const begin = (next() % ((pool.length - length) / elementBytes + 1)) * elementBytes;
    yield pool.subarray(begin, begin + length);
  }
}

function fill(count: number, state: number, value: (random: () => number) => number): Uint8Array {
  const next = xorshift(state);
  const random = () => next() / 2 ** 32;
  return fromFloat32(
    Float32Array.from({ length: count }, () => value(random)),
    'BF16',
  );
}

/** xorshift32 (Marsaglia 2003): 32-bit numbers, period 2^32 - 1. */
function xorshift(seed: number): () => number {
  let state = seed === 0 ? 1 : seed;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return state >>> 0;
  };
}

/** FNV-1a over the seed's digits and a name. */
function hash(seed: number, name: string): number {
  let value = 0x811c9dc5;
  for (const character of `${seed} ${name}`) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  return value >>> 0;
}
