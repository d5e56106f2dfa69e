import type { Axis } from '../../src/axes.js';
import { type Family, floatsOperand } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { DepthwiseKernel } from '../../src/weights.js';

/** y_t = Σ_j kernel_j ⊙ x_{t - taps + 1 + j} over rows of the same slot. */
export interface CausalConvNode {
  readonly kind: 'causalConv';
  readonly label: string;
  readonly x: number;
  readonly kernel: DepthwiseKernel<Axis>;
  readonly y: number;
}

/** What records `causalConv` nodes. */
export interface CausalConvOps {
  /**
   * `[T, A]`: y_t = Σ_j kernel_j ⊙ x_{t - taps + 1 + j}, each channel separately, over rows of the same slot; rows
   * before position 0 count as zeros.
   */
  causalConv<A extends Axis>(x: Value<'T', A>, kernel: DepthwiseKernel<NoInfer<A>>): Value<'T', A>;
}

/** What the recorder knows of `causalConv` nodes, and their `causal_conv` command. */
export const causalConv: Family<CausalConvNode, CausalConvOps> = {
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
  operations: (recording) => ({
    causalConv(x, kernel) {
      recording.expectWidth('causalConv', 'x', x, kernel.channels);
      return recording.result('T', x.width, 'causal_conv', (y, label): CausalConvNode => {
        return { kind: 'causalConv', label, x: x.id, kernel, y };
      });
    },
  }),
};
