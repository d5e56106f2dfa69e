import type { Axis, RowAxis } from '../../src/axes.js';
import { type AnyVector, type Family, scalarCode, vectorOperand } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Vector } from '../../src/weights.js';

/** y = (x + factor · shift) · gain, one shift and one gain per column. */
export interface ColumnAffineNode {
  readonly kind: 'columnAffine';
  readonly label: string;
  readonly x: number;
  readonly shift: AnyVector | null;
  /** 1 adds the shift, -1 subtracts it. */
  readonly factor: number;
  readonly gain: AnyVector | null;
  readonly y: number;
}

/** What records `columnAffine` nodes. */
export interface ColumnAffineOps {
  /** y = x + bias, in float32. */
  addBias<R extends RowAxis, A extends Axis>(x: Value<R, A>, bias: Vector<NoInfer<A>>): Value<R, A>;

  /** y = (x − bias) · scale, in float32: the difference of large numbers (spec 3.4). */
  standardise<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    bias: Vector<NoInfer<A>>,
    scale: Vector<NoInfer<A>>,
  ): Value<R, A>;
}

/** What the recorder knows of `columnAffine` nodes, and their `column_affine` command. */
export const columnAffine: Family<ColumnAffineNode, ColumnAffineOps> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'column_affine',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      width: graph.values[node.x]!.width,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      shiftType: node.shift === null ? 0 : scalarCode(node.shift.dtype),
      gainType: node.gain === null ? 0 : scalarCode(node.gain.dtype),
      hasShift: node.shift === null ? 0 : 1,
      hasGain: node.gain === null ? 0 : 1,
      factor: node.factor,
    },
    operands: [
      { value: node.x },
      node.shift === null ? null : vectorOperand(node.shift),
      node.gain === null ? null : vectorOperand(node.gain),
      { value: node.y, isOutput: true },
    ],
    weightBytes: (node.shift?.data.sizeBytes ?? 0) + (node.gain?.data.sizeBytes ?? 0),
  }),
  operations: (recording) => ({
    addBias(x, bias) {
      recording.expectLength('addBias', 'bias', bias, x.width);
      return recording.result(x.rows, x.width, 'add_bias', (y, label): ColumnAffineNode => {
        return { kind: 'columnAffine', label, x: x.id, shift: bias, factor: 1, gain: null, y };
      });
    },

    standardise(x, bias, scale) {
      recording.expectLength('standardise', 'bias', bias, x.width);
      recording.expectLength('standardise', 'scale', scale, x.width);
      return recording.result(x.rows, x.width, 'standardise', (y, label): ColumnAffineNode => {
        return { kind: 'columnAffine', label, x: x.id, shift: bias, factor: -1, gain: scale, y };
      });
    },
  }),
};
