import type { Family } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y[n] = scale · Σ x[outputRow[n] + i] over i < count, [T, A] → [N, A]. */
export interface PoolRowsNode {
  readonly kind: 'poolRows';
  readonly label: string;
  readonly x: number;
  readonly count: number;
  readonly scale: number;
  readonly y: number;
}

/** What the recorder knows of `poolRows` nodes, and their `pool_rows` command. */
export const poolRows: Family<PoolRowsNode> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'pool_rows',
    attributes: {
      width: graph.values[node.x]!.width,
      count: node.count,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      scale: node.scale,
    },
    operands: [{ value: node.x }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
};
