import type { Axis } from '../axes.js';
import type { DeviceBuffer } from '../device.js';
import type { Graph } from '../recorder/graph.js';
import type { FloatType, Matrix, Vector } from '../weights.js';

/** An operand of a lowered command: an activation, a buffer of its own, or nothing. */
export type Operand =
  | { readonly value: number; readonly isOutput?: boolean }
  | { readonly buffer: DeviceBuffer; readonly isOutput?: boolean }
  | null;

/** A command as the native side takes it: kernel family, numbers for its parameter struct, operands in binding order. */
export interface EncodedCommand {
  readonly family: string;
  readonly attributes: Readonly<Record<string, number>>;
  readonly operands: readonly Operand[];
  /** Weight bytes that the command reads in a step of one row. */
  readonly weightBytes: number;
}

/** What the recorder needs to know of a kind of node. */
export interface Family<N> {
  /** Values that the node reads. */
  reads(node: N): number[];
  /** Values that the node writes. */
  writes(node: N): number[];
  encode(node: N, graph: Graph, options: { isFast: boolean }): EncodedCommand;
}

const SCALAR_CODES: Readonly<Record<FloatType, number>> = { F32: 0, BF16: 1, F16: 2 };
const AFFINE_FORMAT = 3;

/** Number of an element type in kernels/scalar_type.h. */
export function scalarCode(dtype: FloatType): number {
  return SCALAR_CODES[dtype];
}

/** Number of a row set in device/step.h. */
export function rowSetCode(graph: Graph, id: number): number {
  return graph.values[id]!.rows === 'N' ? 1 : 0;
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
  return {
    format: AFFINE_FORMAT,
    bits: matrix.bits,
    group: matrix.groupSize,
    scaleType: SCALAR_CODES[matrix.scaleDtype],
  };
}

/** weight, scales, biases: the three bindings of a matrix. */
export function matrixOperands(matrix: AnyMatrix): Operand[] {
  if (matrix.kind === 'plain') return [{ buffer: matrix.weight }, null, null];
  return [{ buffer: matrix.weight }, { buffer: matrix.scales }, { buffer: matrix.biases }];
}

/** Bytes of a matrix as stored, scales and biases included. */
export function matrixBytes(matrix: AnyMatrix): number {
  const extra = matrix.kind === 'affine' ? matrix.scales.sizeBytes + matrix.biases.sizeBytes : 0;
  return matrix.weight.sizeBytes + extra;
}

/** A matrix whose axes no longer matter. */
export type AnyMatrix = Matrix<Axis, Axis>;
/** A vector whose axis no longer matters. */
export type AnyVector = Vector<Axis>;
