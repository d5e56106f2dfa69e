import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import type { FloatParts } from './float-codec.js';
import { type FloatDType, toFloat32 } from './float-conversion.js';
import { FLOAT_FORMATS, type FloatQuantizationMode } from './quantization-mode.js';

/** Largest numbers of the element types. */
const MAX_E2M1 = 6;
const MAX_E4M3 = 448;
/** Halfway between E2M1 numbers 0 and 0.5, 0.5 and 1 ... */
const E2M1_MIDDLES = [0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5];
const E4M3_NAN = 0x7f;
const E8M0_NAN = 0xff;
const E8M0_BIAS = 127;

/**
 * Quantises a matrix to small floats: one scale per group, then the nearest elements, ties to even, at most the largest.
 *
 * The scale maps the largest magnitude of a group to the largest element: in mxfp4 and mxfp8 the power of two whose
 * logarithm is nearest, in nvfp4 the nearest E4M3, without a global scale. A group with NaN or infinity has the scale NaN.
 *
 * @param values [rows, columns]
 * @throws InvalidArgumentError for a number of columns that is not a multiple of the group size; ShapeMismatchError when `values`
 * has another length
 */
export function quantizeFloat(
  values: Float32Array,
  rows: number,
  columns: number,
  mode: FloatQuantizationMode,
): FloatParts {
  const { bits, groupSize } = FLOAT_FORMATS[mode];
  if (columns % groupSize !== 0) {
    const expected = `a multiple of the group size ${groupSize}`;
    throw new InvalidArgumentError({ argument: 'columns', expected, received: columns });
  }
  if (values.length !== rows * columns) {
    throw new ShapeMismatchError({
      operation: 'quantizeFloat',
      argument: 'values',
      expected: `${rows * columns} elements`,
      received: `${values.length} elements`,
    });
  }
  const scales = new Uint8Array(values.length / groupSize);
  const codes = new Uint8Array((values.length * bits) / 8);
  for (let group = 0; group < scales.length; group++) {
    const begin = group * groupSize;
    const end = begin + groupSize;
    let largest = 0;
    let hasNumbers = true;
    for (let i = begin; i < end; i++) {
      const magnitude = Math.abs(values[i]!);
      if (magnitude > largest) largest = magnitude;
      // False for NaN too.
      if (!(magnitude < Number.POSITIVE_INFINITY)) hasNumbers = false;
    }
    const { code, factor } = hasNumbers ? scaleOf(largest, mode) : NAN_SCALES[mode];
    scales[group] = code;
    if (bits === 8) {
      for (let i = begin; i < end; i++) codes[i] = e4m3Code(values[i]! * factor);
    } else {
      for (let i = begin; i < end; i += 2) {
        codes[i / 2] = e2m1Code(values[i]! * factor) | (e2m1Code(values[i + 1]! * factor) << 4);
      }
    }
  }
  return { weight: new Uint32Array(codes.buffer), scales };
}

/** Like `quantizeFloat`, from bytes of a storage type. */
export function quantizeFloatBytes(
  bytes: Uint8Array,
  dtype: FloatDType,
  rows: number,
  columns: number,
  mode: FloatQuantizationMode,
): FloatParts {
  return quantizeFloat(toFloat32(bytes, dtype), rows, columns, mode);
}

/** A scale as stored, and what values are multiplied with. */
interface Scale {
  readonly code: number;
  readonly factor: number;
}

const NAN_SCALES: Readonly<Record<FloatQuantizationMode, Scale>> = {
  mxfp4: { code: E8M0_NAN, factor: 0 },
  mxfp8: { code: E8M0_NAN, factor: 0 },
  nvfp4: { code: E4M3_NAN, factor: 0 },
};

function scaleOf(largest: number, mode: FloatQuantizationMode): Scale {
  if (mode === 'nvfp4') {
    const code = e4m3Code(largest / MAX_E2M1);
    const scale = e4m3Value(code);
    return { code, factor: scale === 0 ? 0 : 1 / scale };
  }
  const wanted = Math.round(Math.log2(largest / (mode === 'mxfp4' ? MAX_E2M1 : MAX_E4M3)));
  const exponent = Math.min(Math.max(wanted, -E8M0_BIAS), E8M0_BIAS);
  return { code: exponent + E8M0_BIAS, factor: 2 ** -exponent };
}

/** The nearest E2M1; halfway between two, the one with an even fraction. NaN, which only a NaN scale has, is 0. */
function e2m1Code(value: number): number {
  const magnitude = Math.abs(value);
  let code = 0;
  while (
    code < 7 &&
    (magnitude > E2M1_MIDDLES[code]! || (magnitude === E2M1_MIDDLES[code] && code % 2 === 1))
  )
    code++;
  return value < 0 && code > 0 ? code | 8 : code;
}

/** The nearest E4M3; halfway between two, the one with an even fraction. */
function e4m3Code(value: number): number {
  const magnitude = Math.min(Math.abs(value), MAX_E4M3);
  if (!(magnitude > 0)) return 0;
  // Numbers below 2^-6 have its distance.
  const exponent = Math.max(Math.floor(Math.log2(magnitude)), -6);
  const steps = roundHalfEven(magnitude / 2 ** (exponent - 3));
  // From 8 steps on, the leading bit is implicit; 16 steps are the next exponent, as the sum says.
  const code = steps < 8 ? steps : ((exponent + 7) << 3) + (steps - 8);
  return value < 0 && code > 0 ? code | 0x80 : code;
}

function e4m3Value(code: number): number {
  const exponent = (code >> 3) & 15;
  const fraction = code & 7;
  return exponent === 0 ? fraction * 2 ** -9 : (8 + fraction) * 2 ** (exponent - 10);
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest === 0.5) return floor % 2 === 0 ? floor : floor + 1;
  return rest < 0.5 ? floor : floor + 1;
}
