import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import { type FloatDType, fromFloat32, toFloat32 } from './float-conversion.js';

/** Widths of a code in bits. */
export type AffineBits = 2 | 3 | 4 | 5 | 6 | 8;
/** Consecutive columns that share a scale and a bias. */
export type AffineGroupSize = 32 | 64 | 128;

/** How a matrix is quantised. */
export interface AffineOptions {
  /** Bits of a code. */
  readonly bits: AffineBits;
  /** Adjacent columns of a row that share a scale and a bias. */
  readonly groupSize: AffineGroupSize;
  /** Storage type of scales and biases: the dtype of the model. */
  readonly scaleDtype: FloatDType;
}

/** The three arrays of an affine-quantised matrix [rows, columns]. */
export interface AffineParts {
  /** Codes, [rows, columns * bits / 32]: each row one little-endian bit stream, element 0 lowest. */
  readonly weight: Uint32Array;
  /** [rows, columns / groupSize] in `scaleDtype`. A scale may be negative. */
  readonly scales: Uint8Array;
  /** [rows, columns / groupSize] in `scaleDtype`: the value of code 0, not a zero point. */
  readonly biases: Uint8Array;
}

/** True when `bits` is a width that the affine layout knows. */
export function isAffineBits(bits: number): bits is AffineBits {
  return bits === 2 || bits === 3 || bits === 4 || bits === 5 || bits === 6 || bits === 8;
}

/** True when `groupSize` is one that the affine layout knows. */
export function isAffineGroupSize(groupSize: number): groupSize is AffineGroupSize {
  return groupSize === 32 || groupSize === 64 || groupSize === 128;
}

/** Adding and subtracting it rounds a float64 of small magnitude to the nearest integer, ties to even. */
const ROUNDING = 1.5 * 2 ** 52;
const MIN_SCALE = Math.fround(1e-7);
/** Values converted at once: as float32 they fill half of a typical second-level cache. */
const BLOCK_ELEMENTS = 64 * 1024;

/**
 * Quantises a matrix as MLX does, `w ≈ code * scale + bias` per row and group, bit for bit.
 *
 * Per group, in float32: `scale = max((hi - lo) / n, 1e-7)` with n = 2^bits - 1, signed so that code 0 represents the edge
 * of larger magnitude, then adjusted so that this edge and 0 are represented exactly. Codes are rounded with the unrounded
 * scale and bias, ties to even.
 *
 * @param values [rows, columns], finite
 * @throws InvalidArgumentError for unknown bits or group sizes, or a number of columns that is not a multiple of the group size;
 * ShapeMismatchError when `values` has another length
 */
export function quantizeAffine(
  values: Float32Array,
  rows: number,
  columns: number,
  options: AffineOptions,
): AffineParts {
  checkOptions(columns, options);
  checkLength('quantizeAffine', 'values', values.length, rows * columns);
  return quantizeBlocks(rows, columns, options, rows, () => values);
}

/**
 * Like `quantizeAffine`, from bytes of a storage type. Converts a few rows at a time, which stay in the processor's cache.
 */
export function quantizeAffineBytes(
  bytes: Uint8Array,
  dtype: FloatDType,
  rows: number,
  columns: number,
  options: AffineOptions,
): AffineParts {
  checkOptions(columns, options);
  const rowBytes = bytes.length / Math.max(rows, 1);
  const blockRows = Math.max(1, Math.floor(BLOCK_ELEMENTS / columns));
  return quantizeBlocks(rows, columns, options, blockRows, (begin, end) => {
    const values = toFloat32(bytes.subarray(begin * rowBytes, end * rowBytes), dtype);
    checkLength('quantizeAffine', 'bytes', values.length, (end - begin) * columns);
    return values;
  });
}

/** Quantises block after block of rows; `read` gives their values. */
function quantizeBlocks(
  rows: number,
  columns: number,
  { bits, groupSize, scaleDtype }: AffineOptions,
  blockRows: number,
  read: (begin: number, end: number) => Float32Array,
): AffineParts {
  const groups = columns / groupSize;
  const wordsPerGroup = (groupSize * bits) / 32;
  const weight = new Uint32Array(rows * groups * wordsPerGroup);
  const scales = new Float32Array(rows * groups);
  const biases = new Float32Array(rows * groups);
  const codes = new Uint8Array(groupSize);
  for (let begin = 0; begin < rows; begin += blockRows) {
    const end = Math.min(begin + blockRows, rows);
    const values = read(begin, end);
    let start = 0;
    for (let index = begin * groups; index < end * groups; index++) {
      fitGroup(values, start, groupSize, 2 ** bits - 1, scales, biases, index);
      const scale = scales[index]!;
      const bias = biases[index]!;
      const position = index * wordsPerGroup;
      if (bits === 4) packNibbles(values, start, groupSize, scale, bias, weight, position);
      else if (bits === 8) packBytes(values, start, groupSize, scale, bias, weight, position);
      else {
        codeGroup(values, start, codes, scale, bias, 2 ** bits - 1);
        packStream(codes, weight, position, bits);
      }
      start += groupSize;
    }
  }
  return { weight, scales: fromFloat32(scales, scaleDtype), biases: fromFloat32(biases, scaleDtype) };
}

/**
 * Recovers the values `code * scale + bias` of an affine-quantised matrix, [rows, columns] in float32.
 *
 * Product and sum are computed with enough precision that only the final rounding to float32 matters.
 *
 * @throws InvalidArgumentError, ShapeMismatchError as `quantizeAffine`
 */
export function dequantizeAffine(
  parts: AffineParts,
  rows: number,
  columns: number,
  options: AffineOptions,
): Float32Array {
  checkOptions(columns, options);
  const { bits, groupSize, scaleDtype } = options;
  const groups = columns / groupSize;
  const wordsPerRow = (columns * bits) / 32;
  const scales = toFloat32(parts.scales, scaleDtype);
  const biases = toFloat32(parts.biases, scaleDtype);
  checkLength('dequantizeAffine', 'weight', parts.weight.length, rows * wordsPerRow);
  checkLength('dequantizeAffine', 'scales', scales.length, rows * groups);
  checkLength('dequantizeAffine', 'biases', biases.length, rows * groups);
  const values = new Float32Array(rows * columns);
  const codes = new Uint8Array(columns);
  for (let row = 0; row < rows; row++) {
    unpackRow(parts.weight, row * wordsPerRow, codes, bits);
    for (let group = 0; group < groups; group++) {
      const scale = scales[row * groups + group]!;
      const bias = biases[row * groups + group]!;
      const target = row * columns;
      const end = (group + 1) * groupSize;
      for (let column = group * groupSize; column < end; column++) {
        values[target + column] = codes[column]! * scale + bias;
      }
    }
  }
  return values;
}

/** Finds the unrounded scale and bias of one group. A group fills whole words at any width. */
function fitGroup(
  values: Float32Array,
  start: number,
  groupSize: number,
  maxCode: number,
  scales: Float32Array,
  biases: Float32Array,
  index: number,
): void {
  let low = values[start]!;
  let high = low;
  for (let i = start + 1; i < start + groupSize; i++) {
    const value = values[i]!;
    if (value < low) low = value;
    else if (value > high) high = value;
  }
  let scale = Math.fround(Math.fround(high - low) / maxCode);
  if (!(scale > MIN_SCALE)) scale = MIN_SCALE;
  let edge = high;
  if (Math.abs(low) > Math.abs(high)) edge = low;
  else scale = -scale;
  const edgeCode = Math.fround(edge / scale) + ROUNDING - ROUNDING;
  let bias = 0;
  if (edgeCode !== 0) {
    scale = Math.fround(edge / edgeCode);
    bias = edge;
  }
  scales[index] = scale;
  biases[index] = bias;
}

/** `clamp(round((w - bias) / scale))` for each value of a group. */
function codeGroup(
  values: Float32Array,
  start: number,
  codes: Uint8Array,
  scale: number,
  bias: number,
  maxCode: number,
): void {
  for (let i = 0; i < codes.length; i++) codes[i] = codeOf(values[start + i]!, scale, bias, maxCode);
}

/** Within a group no code is far outside 0 to `maxCode`, so that the sum rounds to a whole number of 32 bits. */
function codeOf(value: number, scale: number, bias: number, maxCode: number): number {
  const code = (Math.fround(Math.fround(value - bias) / scale) + ROUNDING - ROUNDING) | 0;
  return code < 0 ? 0 : Math.min(code, maxCode);
}

/** Quantises and packs a group at 4 bits; 4 and 8 bits are the most common widths. */
function packNibbles(
  values: Float32Array,
  start: number,
  groupSize: number,
  scale: number,
  bias: number,
  words: Uint32Array,
  position: number,
): void {
  const end = start + groupSize;
  for (let i = start, at = position; i < end; i += 8, at++) {
    words[at] =
      codeOf(values[i]!, scale, bias, 15) |
      (codeOf(values[i + 1]!, scale, bias, 15) << 4) |
      (codeOf(values[i + 2]!, scale, bias, 15) << 8) |
      (codeOf(values[i + 3]!, scale, bias, 15) << 12) |
      (codeOf(values[i + 4]!, scale, bias, 15) << 16) |
      (codeOf(values[i + 5]!, scale, bias, 15) << 20) |
      (codeOf(values[i + 6]!, scale, bias, 15) << 24) |
      (codeOf(values[i + 7]!, scale, bias, 15) << 28);
  }
}

/** Quantises and packs a group at 8 bits. */
function packBytes(
  values: Float32Array,
  start: number,
  groupSize: number,
  scale: number,
  bias: number,
  words: Uint32Array,
  position: number,
): void {
  const end = start + groupSize;
  for (let i = start, at = position; i < end; i += 4, at++) {
    words[at] =
      codeOf(values[i]!, scale, bias, 255) |
      (codeOf(values[i + 1]!, scale, bias, 255) << 8) |
      (codeOf(values[i + 2]!, scale, bias, 255) << 16) |
      (codeOf(values[i + 3]!, scale, bias, 255) << 24);
  }
}

function packStream(codes: Uint8Array, words: Uint32Array, start: number, bits: number): void {
  let word = 0;
  let filled = 0;
  let position = start;
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    word |= code << filled;
    filled += bits;
    if (filled >= 32) {
      words[position++] = word;
      filled -= 32;
      // The bits of this code that did not fit; a shift by 32 would be a shift by 0.
      word = filled === 0 ? 0 : code >>> (bits - filled);
    }
  }
}

function unpackRow(words: Uint32Array, start: number, codes: Uint8Array, bits: number): void {
  const mask = 2 ** bits - 1;
  let position = start;
  let shift = 0;
  for (let i = 0; i < codes.length; i++) {
    let code = words[position]! >>> shift;
    shift += bits;
    if (shift >= 32) {
      shift -= 32;
      position++;
      if (shift > 0) code |= words[position]! << (bits - shift);
    }
    codes[i] = code & mask;
  }
}

function checkOptions(columns: number, { bits, groupSize }: AffineOptions): void {
  if (!isAffineBits(bits)) {
    throw new InvalidArgumentError({ argument: 'bits', expected: '2, 3, 4, 5, 6 or 8', received: bits });
  }
  if (!isAffineGroupSize(groupSize)) {
    throw new InvalidArgumentError({ argument: 'groupSize', expected: '32, 64 or 128', received: groupSize });
  }
  if (columns % groupSize !== 0) {
    throw new InvalidArgumentError({
      argument: 'columns',
      expected: `a multiple of the group size ${groupSize}`,
      received: columns,
    });
  }
}

function checkLength(operation: string, argument: string, received: number, expected: number): void {
  if (received === expected) return;
  throw new ShapeMismatchError({
    operation,
    argument,
    expected: `${expected} elements`,
    received: `${received} elements`,
  });
}
