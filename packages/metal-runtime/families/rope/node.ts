import { type Family, rowSetCode } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** Rotates the pairs (i, i + K/2) of every head of x, or of each of its `axes` parts, by the row's angles. */
export interface RopeNode {
  readonly kind: 'rope';
  readonly label: string;
  readonly x: number;
  readonly table: number;
  readonly heads: number;
  /** 1, or parts of a head that turn with a coordinate of their own. */
  readonly axes: number;
  readonly y: number;
}

/** What the recorder knows of `rope` nodes, and their `rope` command. */
export const rope: Family<RopeNode> = {
  reads: (node) => [node.x, node.table],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'rope',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      heads: node.heads,
      width: graph.values[node.x]!.width / node.heads,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      axes: node.axes,
    },
    operands: [{ value: node.x }, { value: node.table }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
};
