import type { AffineBits, AffineGroupSize } from './affine-codec.js';

/** Number formats of quantised matrices in the MLX layout. */
export type QuantizationMode = 'affine' | FloatQuantizationMode;

/** Columns that the engine decodes together: those of a matrix of small floats are a multiple of it. */
export const FLOAT_COLUMNS = 32;

/** Small-float formats: one scale per group, no biases. */
export type FloatQuantizationMode = 'mxfp4' | 'mxfp8' | 'nvfp4';

/** How a module is quantised. */
export type QuantizationParameters =
  | { readonly mode: 'affine'; readonly bits: AffineBits; readonly groupSize: AffineGroupSize }
  | FloatParameters;

/** Bits of an element, and number of elements that share a scale; both are fixed for each format. */
export interface FloatParameters {
  /** The floating-point format of the codes. */
  readonly mode: FloatQuantizationMode;
  /** Bits of a code. */
  readonly bits: number;
  /** Adjacent columns of a row that share a scale. */
  readonly groupSize: number;
}

/** The width and group size of each small-float format. */
export const FLOAT_FORMATS: Readonly<Record<FloatQuantizationMode, FloatParameters>> = {
  mxfp4: { mode: 'mxfp4', bits: 4, groupSize: 32 },
  mxfp8: { mode: 'mxfp8', bits: 8, groupSize: 32 },
  nvfp4: { mode: 'nvfp4', bits: 4, groupSize: 16 },
};

/** True for the name of a small-float format. */
export function isFloatMode(mode: string): mode is FloatQuantizationMode {
  return Object.hasOwn(FLOAT_FORMATS, mode);
}
