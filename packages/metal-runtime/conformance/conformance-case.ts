import type { Device, Ops, RecordOptions, SamplingParams } from '../src/index.js';

/** |actual − expected| ≤ absolute + relative · |expected|. */
export interface Tolerance {
  readonly absolute: number;
  readonly relative: number;
}

/** The rows of the step; the defaults are token 0, position = row, slot 0, no output rows. */
export interface CaseRows {
  readonly count: number;
  readonly tokens?: Int32Array;
  readonly positions?: Int32Array;
  readonly slots?: Int32Array;
  readonly layerTokens?: Int32Array;
  readonly visibleEnd?: Int32Array;
  readonly softIndex?: Int32Array;
  readonly outputRows?: Int32Array;
  readonly sampling?: readonly SamplingParams[];
}

/** Data of one `ops.input`: `rows` 'T' and 'N' are split with the step, 'S' is passed whole. */
export interface CaseInput {
  readonly rows: 'T' | 'N' | 'S';
  readonly width: number;
  readonly data: Float32Array;
}

/** Named results, row-major. */
export type Results = Readonly<Record<string, ArrayLike<number>>>;

/** One recording with its data and expected results; the same on every backend and instruction set. */
export interface ConformanceCase {
  readonly name: string;
  readonly rows: CaseRows;
  readonly inputs: Readonly<Record<string, CaseInput>>;
  /** Names of the outputs; default: `y`. A graph that samples also reports `tokens`, `logprobs` and so on. */
  readonly outputs?: readonly string[];
  /** Records the graph and names its outputs. */
  record(ops: Ops, device: Device): void;
  /** The expected results in float64, computed in the straightforward way. */
  oracle(): Results;
  /** Number of commands after fusion; default: not checked. */
  readonly fusedCommands?: number;
  /** Tolerance in `high`. */
  readonly tolerance: Tolerance;
  /** Tolerance in `fast`; omitted if `fast` runs the same code. */
  readonly fastTolerance?: Tolerance;
  /**
   * Kernels that `fast` is recorded for; default: by the number of rows. If given, `fast` also yields the same bits in
   * the largest of the chunks and next to the equivalents.
   */
  readonly fastKernelsFor?: RecordOptions['kernelsFor'];
  /** Step sizes that must yield the same bits as one step in `high`; default 1 and 3. */
  readonly chunks?: readonly number[];
  /** Other cases whose rows (default: all) must have the same bits as this one's rows, in order, in `high`. */
  readonly equivalents?: readonly { readonly other: ConformanceCase; readonly rows?: readonly number[] }[];
}

/** The case table of one kernel family. */
export interface ConformanceFamily {
  readonly name: string;
  readonly cases: readonly ConformanceCase[];
}

/** Row counts in the tables: one, two, an odd number below and a number above any tile. */
export const ROW_COUNTS = [1, 2, 7, 64] as const;
