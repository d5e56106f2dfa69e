import { type Family, rowSetCode } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y = Σ_x share_x · x_x, [R, X·A] → [R, A]. */
export interface MoeCombineNode {
  readonly kind: 'moeCombine';
  readonly label: string;
  readonly x: number;
  readonly shares: number;
  readonly y: number;
}

/** Sums over the chosen experts: how a moe_combine command is made. */
export const moeCombine: Family<MoeCombineNode> = {
  reads: (node) => [node.x, node.shares],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'moe_combine',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      topK: graph.values[node.shares]!.width,
      width: graph.values[node.y]!.width,
      xStride: strideOf(graph, node.x),
      sharesStride: strideOf(graph, node.shares),
      yStride: strideOf(graph, node.y),
    },
    operands: [{ value: node.x }, { value: node.shares }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
};
