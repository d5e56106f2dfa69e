import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import { toFloat32 } from './float-conversion.js';
import { FLOAT_FORMATS, type FloatQuantizationMode } from './quantization-mode.js';

/** The two arrays of a matrix [rows, columns] in a small-float format. */
export interface FloatParts {
  /** Codes, [rows, columns * bits / 32]: element 0 in the lowest bits. */
  readonly weight: Uint32Array;
  /** One byte per group: E8M0 in mxfp4 and mxfp8, E4M3 in nvfp4. */
  readonly scales: Uint8Array;
}

/** Values of the 16 codes of E2M1: sign, two bits of exponent, one of fraction. */
const E2M1 = Float32Array.of(0, 0.5, 1, 1.5, 2, 3, 4, 6, -0, -0.5, -1, -1.5, -2, -3, -4, -6);

/**
 * Recovers the values `element * scale` of a matrix, [rows, columns] in float32.
 *
 * | mode | element | scale | group |
 * |---|---|---|---|
 * | mxfp4 | E2M1 | E8M0: 2^(s - 127), 255 = NaN | 32 |
 * | mxfp8 | E4M3 | E8M0 | 32 |
 * | nvfp4 | E2M1 | E4M3 | 16 |
 *
 * Every value is exact, except products below the smallest float32.
 *
 * @throws InvalidArgumentError for a number of columns that is not a multiple of the group size; ShapeMismatchError for arrays of a wrong length
 */
export function dequantizeFloat(
  parts: FloatParts,
  rows: number,
  columns: number,
  mode: FloatQuantizationMode,
): Float32Array {
  const { bits, groupSize } = FLOAT_FORMATS[mode];
  if (columns % groupSize !== 0) {
    throw new InvalidArgumentError({
      argument: 'columns',
      expected: `a multiple of the group size ${groupSize}`,
      received: columns,
    });
  }
  checkLength('weight', parts.weight.length, (rows * columns * bits) / 32);
  checkLength('scales', parts.scales.length, (rows * columns) / groupSize);
  const scales = toFloat32(parts.scales, mode === 'nvfp4' ? 'F8_E4M3' : 'F8_E8M0');
  const values = elementsOf(parts.weight, bits);
  for (let group = 0; group < scales.length; group++) {
    const scale = scales[group]!;
    const end = (group + 1) * groupSize;
    for (let i = group * groupSize; i < end; i++) values[i] = values[i]! * scale;
  }
  return values;
}

/** The elements before scaling; rows are whole words, so all of them are one stream. */
function elementsOf(words: Uint32Array, bits: number): Float32Array {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, words.byteLength);
  if (bits === 8) return toFloat32(bytes, 'F8_E4M3');
  const values = new Float32Array(bytes.length * 2);
  for (let i = 0; i < bytes.length; i++) {
    values[2 * i] = E2M1[bytes[i]! & 15]!;
    values[2 * i + 1] = E2M1[bytes[i]! >> 4]!;
  }
  return values;
}

function checkLength(argument: string, received: number, expected: number): void {
  if (received === expected) return;
  throw new ShapeMismatchError({
    operation: 'dequantizeFloat',
    argument,
    expected: `${expected} elements`,
    received: `${received} elements`,
  });
}
