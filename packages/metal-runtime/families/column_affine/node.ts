import { type AnyVector, type Family, rowSetCode, scalarCode, vectorOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y = (x + factor · shift) · gain, one shift and one gain a column. */
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

/** What the recorder knows of `columnAffine` nodes, and their `column_affine` command. */
export const columnAffine: Family<ColumnAffineNode> = {
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
};
