import type { Family } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y[n] = x[outputRow[n]], [T, A] → [N, A]. */
export interface GatherRowsNode {
  readonly kind: 'gatherRows';
  readonly label: string;
  readonly x: number;
  readonly y: number;
}

/** What the recorder knows of `gatherRows` nodes, and their `gather_rows` command. */
export const gatherRows: Family<GatherRowsNode> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'gather_rows',
    attributes: {
      width: graph.values[node.x]!.width,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
    },
    operands: [{ value: node.x }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
};
