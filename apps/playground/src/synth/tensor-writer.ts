import type { FloatQuantizationMode, QuantizationMode, TensorSource } from '@markbase/loader';
import type { QuantizationEntry } from './config-json.js';
import type { RandomPool } from './random-pool.js';

/** How the matrices of a checkpoint are stored; null = plain bfloat16. */
export type Storage = {
  readonly mode: QuantizationMode;
  readonly bits: number;
  readonly groupSize: number;
} | null;

/** The tensors of a random checkpoint, and the modules that are stored differently. */
export interface SynthTensors {
  readonly tensors: readonly TensorSource[];
  /** Entries of `quantization` in config.json, by module path. */
  readonly overrides: Readonly<Record<string, QuantizationEntry>>;
}

/** Columns of a matrix of small floats are a multiple of this. */
const FLOAT_COLUMNS = 32;

const GAIN = { mean: 1, deviation: 0.05 };

/** Collects tensors; their data is generated on demand. */
export class TensorWriter {
  readonly #storage: Storage;
  readonly #pool: RandomPool;
  readonly #tensors: TensorSource[] = [];
  readonly #overrides: Record<string, QuantizationEntry> = {};

  constructor(storage: Storage, pool: RandomPool) {
    this.#storage = storage;
    this.#pool = pool;
  }

  /** A vector of values near `mean`. */
  gain(name: string, length: number, mean = GAIN.mean): void {
    this.plain(name, [length], { mean, deviation: mean * GAIN.deviation });
  }

  /** A tensor that is never quantised. */
  plain(name: string, shape: readonly number[], spread: { mean: number; deviation: number }): void {
    const chunks = () => this.#pool.uniform(name, product(shape), spread);
    this.#tensors.push({ name, dtype: 'BF16', shape, chunks });
  }

  /** A matrix [.., out, in], quantised if the storage says so and the width allows it. */
  matrix(
    module: string,
    shape: readonly number[],
    options: { deviation?: number; bits?: number } = {},
  ): void {
    const columns = shape.at(-1) ?? 1;
    const deviation = options.deviation ?? columns ** -0.5;
    const storage = this.#storage;
    const hasOwnBits = options.bits !== undefined;
    if (storage && storage.mode !== 'affine' && columns % FLOAT_COLUMNS === 0 && !hasOwnBits) {
      this.#floats(module, shape, storage.mode, { ...storage, deviation });
      return;
    }
    const isAffine = storage?.mode === 'affine';
    const groupSize =
      storage && [isAffine ? storage.groupSize : 64, 64, 32].find((size) => columns % size === 0);
    if (!storage || !groupSize || (!isAffine && !hasOwnBits)) {
      this.plain(`${module}.weight`, shape, { mean: 0, deviation });
      return;
    }
    const bits = options.bits ?? storage.bits;
    if (!isAffine) this.#overrides[module] = { bits, group_size: groupSize, mode: 'affine' };
    else if (bits !== storage.bits || groupSize !== storage.groupSize) {
      this.#overrides[module] = { bits, group_size: groupSize };
    }
    this.#affine(module, shape, { bits, groupSize, deviation });
  }

  result(): SynthTensors {
    return { tensors: this.#tensors, overrides: this.#overrides };
  }

  #floats(
    module: string,
    shape: readonly number[],
    mode: FloatQuantizationMode,
    options: { bits: number; groupSize: number; deviation: number },
  ): void {
    const pool = this.#pool;
    const { bits, groupSize, deviation } = options;
    const columns = shape.at(-1) ?? 1;
    const packed = [...shape.slice(0, -1), (columns * bits) / 32];
    const groups = [...shape.slice(0, -1), columns / groupSize];
    const bytes = 4 * product(packed);
    this.#tensors.push(
      {
        name: `${module}.weight`,
        dtype: 'U32',
        shape: packed,
        chunks: () => (bits === 8 ? pool.smallFloats(module, bytes) : pool.codes(module, bytes)),
      },
      {
        name: `${module}.scales`,
        dtype: 'U8',
        shape: groups,
        chunks: () => pool.smallScales(module, product(groups), mode, deviation),
      },
    );
  }

  #affine(
    module: string,
    shape: readonly number[],
    options: { bits: number; groupSize: number; deviation: number },
  ): void {
    const pool = this.#pool;
    const { bits, groupSize } = options;
    const columns = shape.at(-1) ?? 1;
    const packed = [...shape.slice(0, -1), (columns * bits) / 32];
    const groups = [...shape.slice(0, -1), columns / groupSize];
    const groupCount = product(groups);
    this.#tensors.push(
      {
        name: `${module}.weight`,
        dtype: 'U32',
        shape: packed,
        chunks: () => pool.codes(module, 4 * product(packed)),
      },
      {
        name: `${module}.scales`,
        dtype: 'BF16',
        shape: groups,
        chunks: () => pool.scales(module, groupCount, options),
      },
      {
        name: `${module}.biases`,
        dtype: 'BF16',
        shape: groups,
        chunks: () => pool.biases(module, groupCount, options),
      },
    );
  }
}

function product(shape: readonly number[]): number {
  return shape.reduce((total, size) => total * size, 1);
}
