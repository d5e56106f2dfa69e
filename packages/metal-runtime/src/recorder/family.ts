import { ShapeMismatchError } from '@markbase/core';
import type { Axis } from '../axes.js';
import { BLOCK_TOKENS } from '../cache-tables.js';
import type { DeviceBuffer } from '../device-buffer.js';
import type { FloatType, KvCache, Matrix, SmallFloatKind, Vector } from '../weights.js';
import type { Recording } from './recording.js';
import type { ValueTable } from './values.js';

/** An operand of a lowered command: an activation, a separate buffer, or nothing. */
export type Operand =
  | { readonly value: number; readonly isOutput?: boolean }
  | { readonly buffer: DeviceBuffer; readonly isOutput?: boolean }
  | null;

/**
 * A command in the form that the native side takes: kernel family, numbers for its parameter struct, operands in binding order.
 */
export interface EncodedCommand {
  readonly family: string;
  readonly attributes: Readonly<Record<string, number>>;
  readonly operands: readonly Operand[];
  /** Weight bytes that the command reads in a step of one row. */
  readonly weightBytes: number;
}

/** What the recorder needs to know about a kind of node, and the operations that record it. */
export interface Family<N, Operations = unknown> {
  /** Values that the node reads. */
  reads(node: N): number[];
  /** Values that the node writes. */
  writes(node: N): number[];
  encode(node: N, values: ValueTable, options: EncodeOptions): EncodedCommand;
  /** The operations of model code, which check their operands. */
  operations(recording: Recording): Operations;
  /** Arrays of a step that the kernels read and that have no sensible default. */
  readonly needs?: readonly StepArray[];
}

/** What all commands of a program have in common. */
export interface EncodeOptions {
  readonly isFast: boolean;
  /** Kernels for steps of a few rows. */
  readonly hasFewRows: boolean;
}

/** An array of a step that some programs require. */
export type StepArray = 'tokens' | 'positions' | 'visibleEnd';

const SCALAR_BYTES: Readonly<Record<FloatType, number>> = { F32: 4, BF16: 2, F16: 2 };
const SCALAR_CODES: Readonly<Record<FloatType, number>> = { F32: 0, BF16: 1, F16: 2 };
const AFFINE_FORMAT = 3;
/** The numbers of WeightFormat in kernels/scalar_type.h, and what the formats define. */
const SMALL_FLOATS: Readonly<Record<SmallFloatKind, { format: number; bits: number; group: number }>> = {
  mxfp4: { format: 4, bits: 4, group: 32 },
  mxfp8: { format: 5, bits: 8, group: 32 },
  nvfp4: { format: 6, bits: 4, group: 16 },
};
/** Columns of small floats that kernels decode together. */
const SMALL_FLOAT_COLUMNS = 32;

/** The number of an element type in kernels/scalar_type.h. */
export function scalarCode(dtype: FloatType): number {
  return SCALAR_CODES[dtype];
}

/** The storage fields of a matrix, as kernels take them. */
export function matrixAttributes(matrix: AnyMatrix): {
  format: number;
  bits: number;
  group: number;
  scaleType: number;
} {
  if (matrix.kind === 'plain') {
    return { format: SCALAR_CODES[matrix.dtype], bits: 0, group: 0, scaleType: 0 };
  }
  if (matrix.kind !== 'affine') return { ...SMALL_FLOATS[matrix.kind], scaleType: 0 };
  return {
    format: AFFINE_FORMAT,
    bits: matrix.bits,
    group: matrix.groupSize,
    scaleType: SCALAR_CODES[matrix.scaleDtype],
  };
}

/**
 * weight, scales, biases: the three bindings of a matrix.
 *
 * @throws ShapeMismatchError if a buffer is too small for the shape, because a kernel would read past its end, or if small floats are not
 * whole blocks of 32 columns
 */
export function matrixOperands(matrix: AnyMatrix): Operand[] {
  const { rows, columns, weight } = matrix;
  const elements = rows * columns;
  if (matrix.kind === 'plain') {
    return [checkedBuffer('weight', weight, elements * SCALAR_BYTES[matrix.dtype]), null, null];
  }
  if (matrix.kind !== 'affine') {
    if (columns % SMALL_FLOAT_COLUMNS !== 0) {
      throw new ShapeMismatchError({
        operation: 'record',
        argument: 'weight',
        expected: `a multiple of ${SMALL_FLOAT_COLUMNS} columns in ${matrix.kind}`,
        received: `[${rows}, ${columns}]`,
      });
    }
    const { bits, group } = SMALL_FLOATS[matrix.kind];
    return [
      checkedBuffer('weight', weight, (elements * bits) / 8),
      checkedBuffer('scales', matrix.scales, elements / group),
      null,
    ];
  }
  const { bits, groupSize, scaleDtype, scales, biases } = matrix;
  const groupBytes = (elements / groupSize) * SCALAR_BYTES[scaleDtype];
  return [
    checkedBuffer('weight', weight, (elements * bits) / 8),
    checkedBuffer('scales', scales, groupBytes),
    checkedBuffer('biases', biases, groupBytes),
  ];
}

/** The binding of a vector. @throws ShapeMismatchError if its buffer is too small for its length */
export function vectorOperand({ data, length, dtype }: AnyVector): Operand {
  return checkedBuffer('vector', data, length * SCALAR_BYTES[dtype]);
}

/** The binding of float32 numbers. @throws ShapeMismatchError if the buffer holds fewer than `count` */
export function floatsOperand(argument: string, buffer: DeviceBuffer, count: number): Operand {
  return checkedBuffer(argument, buffer, count * SCALAR_BYTES.F32);
}

/** The caches that a layer belongs to: 0 = those of full layers, 1 = those of sliding layers. */
export function cacheKind({ windowTokens }: KvCache): number {
  return windowTokens === null ? 0 : 1;
}

/** The key and the value binding of a cache. @throws ShapeMismatchError if a buffer is too small for its blocks */
export function cacheOperands(cache: KvCache, isOutput: boolean): [Operand, Operand] {
  const { blockCount, kvHeadCount, headWidth, dtype } = cache;
  const bytes = blockCount * BLOCK_TOKENS * kvHeadCount * headWidth * SCALAR_BYTES[dtype];
  return [
    { ...checkedBuffer('keys', cache.keys, bytes), isOutput },
    { ...checkedBuffer('values', cache.values, bytes), isOutput },
  ];
}

function checkedBuffer(argument: string, buffer: DeviceBuffer, sizeBytes: number): { buffer: DeviceBuffer } {
  if (buffer.sizeBytes >= sizeBytes) return { buffer };
  throw new ShapeMismatchError({
    operation: 'record',
    argument,
    expected: `${sizeBytes} bytes for its shape`,
    received: `${buffer.sizeBytes} bytes`,
  });
}

/** Bytes of a matrix as stored, scales and biases included. */
export function matrixBytes(matrix: AnyMatrix): number {
  const scales = matrix.kind === 'plain' ? 0 : matrix.scales.sizeBytes;
  const biases = matrix.kind === 'affine' ? matrix.biases.sizeBytes : 0;
  return matrix.weight.sizeBytes + scales + biases;
}

/** A matrix whose axes no longer matter. */
export type AnyMatrix = Matrix<Axis, Axis>;
/** A vector whose axis no longer matters. */
export type AnyVector = Vector<Axis>;
