import type { Axes, Axis } from './axes.js';
import type { DeviceBuffer } from './device-buffer.js';

/** Element type of a stored vector or of the scales of a quantised matrix. */
export type FloatType = 'F32' | 'BF16' | 'F16';

/** Formats of small floats: element · scale, without biases. Elements E2M1 or E4M3, groups of 32 with scales E8M0 or of 16 with E4M3. */
export type SmallFloatKind = 'mxfp4' | 'mxfp8' | 'nvfp4';

/** A stored vector [A], such as a norm gain. */
export interface Vector<A extends Axis> extends Axes<A> {
  /** A, the number of elements. */
  readonly length: number;
  /** Element type of the data. */
  readonly dtype: FloatType;
  /** The elements. */
  readonly data: DeviceBuffer;
}

/** A stored matrix [Out, In], exactly as it is in the checkpoint. */
export type Matrix<Out extends Axis, In extends Axis> = Axes<[Out, In]> & {
  /** Out */
  readonly rows: number;
  /** In */
  readonly columns: number;
  /** The weights [Out, In], or packed codes. */
  readonly weight: DeviceBuffer;
} & (
    | { readonly kind: 'plain'; readonly dtype: FloatType }
    | {
        /** w = code · scale + bias, with one scale and bias per row and group of columns. */
        readonly kind: 'affine';
        /** Bits of a code. */
        readonly bits: 2 | 3 | 4 | 5 | 6 | 8;
        /** Adjacent columns of a row that share a scale and a bias. */
        readonly groupSize: 32 | 64 | 128;
        /** Element type of scales and biases. */
        readonly scaleDtype: FloatType;
        /** Scales [Out, In / groupSize]. */
        readonly scales: DeviceBuffer;
        /** Biases [Out, In / groupSize]. */
        readonly biases: DeviceBuffer;
      }
    /** In is a multiple of 32. */
    | { readonly kind: SmallFloatKind; readonly scales: DeviceBuffer }
  );

/**
 * The matrices [Out, In] of all experts of a layer, consecutive in one stored matrix [E · rowsPerExpert, In]; these are
 * rows [firstRow, firstRow + rows) of each expert. If gate and up are stored as one tensor, `rowsPerExpert` is twice
 * `rows`.
 */
export interface ExpertMatrix<Out extends Axis, In extends Axis> extends Axes<[Out, In]> {
  /** E */
  readonly expertCount: number;
  /** Out */
  readonly rows: number;
  /** In */
  readonly columns: number;
  /** Stored rows of an expert. */
  readonly rowsPerExpert: number;
  /** First of these rows within an expert. */
  readonly firstRow: number;
  /** All rows of all experts. */
  readonly stored: Matrix<Axis, In>;
}

/** Matrices [Out, In] of several adapters, float32 [count, Out, In]. */
export interface AdapterMatrices<Out extends Axis, In extends Axis> extends Axes<[Out, In]> {
  /** Number of adapters. */
  readonly count: number;
  /** Out */
  readonly rows: number;
  /** In */
  readonly columns: number;
  /** The numbers. */
  readonly data: DeviceBuffer;
}

/** A 3 × 3 convolution as float32 [time, frequency, In channels, Out channels]. */
export interface ConvKernel {
  /** Channels of the input. */
  readonly inChannels: number;
  /** Channels of the output. */
  readonly outChannels: number;
  /** The weights. */
  readonly data: DeviceBuffer;
}

/** A convolution over time, separate for each channel, float32 [taps, A], oldest row first. */
export interface DepthwiseKernel<A extends Axis> extends Axes<A> {
  /** Rows that the kernel covers. */
  readonly taps: number;
  /** A */
  readonly channels: number;
  /** The weights. */
  readonly data: DeviceBuffer;
}

/** Keys for the distances 0, 1, 2 … between a query and a key, float32 [distances, HK]. */
export interface RelativeKeys {
  /** Number of distances, one key per head for each. */
  readonly distances: number;
  /** HK */
  readonly width: number;
  /** The keys. */
  readonly data: DeviceBuffer;
}

/** Keys and values of one layer in blocks of BLOCK_TOKENS positions, [blocks, BLOCK_TOKENS, G, K] each. */
export interface KvCache {
  /** Keys of all sequences. */
  readonly keys: DeviceBuffer;
  /** Values of all sequences. */
  readonly values: DeviceBuffer;
  /** Number of blocks. */
  readonly blockCount: number;
  /**
   * Maximum number of positions of a sequence. In steps without tables, a sliding cache keeps that many, in whole
   * blocks.
   */
  readonly capacityTokens: number;
  /** G, heads of keys and values. */
  readonly kvHeadCount: number;
  /** K, width of a head. */
  readonly headWidth: number;
  /** Number of keys that a query of this layer sees, including its own; null = all. */
  readonly windowTokens: number | null;
  /** Element type of the cache. */
  readonly dtype: 'F32' | 'BF16';
}
