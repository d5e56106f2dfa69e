import type { Axis } from '../../src/axes.js';
import { type Family, floatsOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { DepthwiseKernel } from '../../src/weights.js';

/** y_t = Σ_j kernel_j ⊙ x_{t - taps + 1 + j} over rows of the same slot. */
export interface CausalConvNode {
  readonly kind: 'causalConv';
  readonly label: string;
  readonly x: number;
  readonly kernel: DepthwiseKernel<Axis>;
  readonly y: number;
}

/** What the recorder knows of `causalConv` nodes, and their `causal_conv` command. */
export const causalConv: Family<CausalConvNode> = {
  needs: ['positions'],
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'causal_conv',
    attributes: {
      taps: node.kernel.taps,
      width: node.kernel.channels,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
    },
    operands: [
      { value: node.x },
      floatsOperand('kernel', node.kernel.data, node.kernel.taps * node.kernel.channels),
      { value: node.y, isOutput: true },
    ],
    weightBytes: node.kernel.data.sizeBytes,
  }),
};
