import {
  type AffineBits,
  type AffineGroupSize,
  isAffineBits,
  isAffineGroupSize,
} from '../quantization/affine-codec.js';
import { isFloatDType } from '../quantization/float-conversion.js';
import { FLOAT_FORMATS, type QuantizationParameters } from '../quantization/quantization-mode.js';
import type { TensorView } from '../safetensors/tensor-view.js';

/** The arrays of one module; biases are null where there are none. */
export interface QuantizedArrays {
  readonly weight: TensorView;
  readonly scales: TensorView;
  readonly biases: TensorView | null;
}

/** A way in which arrays can be read. */
export type Reading = QuantizationParameters & { readonly columns: number };

const AFFINE_BITS: readonly AffineBits[] = [2, 3, 4, 5, 6, 8];
const AFFINE_GROUPS: readonly AffineGroupSize[] = [32, 64, 128];

/**
 * All ways in which arrays can be read.
 *
 * Arrays with biases are affine, arrays with scales of one byte and without biases are small floats; the widths tell which:
 * `words = columns * bits / 32`, `scales = columns / groupSize`. If the number of columns is known, at most one way is
 * left.
 *
 * @param columns null = unknown
 */
export function readingsOf({ weight, scales, biases }: QuantizedArrays, columns: number | null): Reading[] {
  const words = weight.shape.at(-1) ?? 0;
  const groups = scales.shape.at(-1) ?? 0;
  if (weight.dtype !== 'U32' || words === 0 || groups === 0 || !hasSameRows(weight, scales)) return [];
  const fits = ({ bits, groupSize }: QuantizationParameters): number | null => {
    const stands = (32 * words) / bits;
    return Number.isInteger(stands) && stands === groups * groupSize && (columns ?? stands) === stands
      ? stands
      : null;
  };
  const candidates = biases === null ? floatCandidates(scales) : affineCandidates(scales, biases);
  return candidates.flatMap((candidate) => {
    const stands = fits(candidate);
    return stands === null ? [] : [{ ...candidate, columns: stands }];
  });
}

function floatCandidates(scales: TensorView): QuantizationParameters[] {
  return scales.dtype === 'U8' ? Object.values(FLOAT_FORMATS) : [];
}

function affineCandidates(scales: TensorView, biases: TensorView): QuantizationParameters[] {
  const isSound =
    isFloatDType(scales.dtype) &&
    biases.dtype === scales.dtype &&
    biases.shape.length === scales.shape.length &&
    biases.shape.every((length, axis) => length === scales.shape[axis]);
  if (!isSound) return [];
  return AFFINE_BITS.flatMap((bits) =>
    AFFINE_GROUPS.map((groupSize) => ({ mode: 'affine' as const, bits, groupSize })),
  );
}

function hasSameRows(weight: TensorView, scales: TensorView): boolean {
  return (
    weight.shape.length === scales.shape.length &&
    weight.shape.slice(0, -1).every((length, axis) => length === scales.shape[axis])
  );
}

/** Says what is wrong with arrays that cannot be read at all, given what they should represent. */
export function problemOf(arrays: QuantizedArrays, expected: string, columns: number | null): string {
  const { weight, scales, biases } = arrays;
  if (weight.dtype !== 'U32') return `${shown(weight)}, expected U32, as it has scales`;
  if (!hasSameRows(weight, scales)) return `${shown(scales)}, expected the rows of ${shown(weight)}`;
  if (columns !== null && biases !== null) {
    const bits = (32 * (weight.shape.at(-1) ?? 0)) / columns;
    const groupSize = columns / (scales.shape.at(-1) ?? 0);
    if (!isAffineBits(bits)) return `${shown(weight)}, expected ${expected} packed into U32`;
    if (!isAffineGroupSize(groupSize)) {
      return `${shown(scales)}, expected one scale for 32, 64 or 128 columns of ${expected}`;
    }
  }
  if (biases === null) {
    return `${shown(weight)} with ${shown(scales)}, expected ${expected} in mxfp4, mxfp8 or nvfp4, as it has no biases`;
  }
  if (!isFloatDType(scales.dtype)) return `${shown(scales)}, expected BF16, F16 or F32`;
  return `${shown(biases)}, expected the type and the shape of ${shown(scales)}`;
}

/** A tensor in words, such as `a.weight is U32 [8, 16]`. */
export function shown({ name, dtype, shape }: TensorView): string {
  return `${name} is ${dtype} [${shape.join(', ')}]`;
}
