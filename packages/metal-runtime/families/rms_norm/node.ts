import type { Axis, RowAxis } from '../../src/axes.js';
import { type AnyVector, type Family, scalarCode, vectorOperand } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Vector } from '../../src/weights.js';

/** y = rms_norm(x) · gain, or (residual + rms_norm(x) · gain) · outputScale. */
export interface RmsNormNode {
  readonly kind: 'rmsNorm';
  readonly label: string;
  readonly x: number;
  readonly gain: AnyVector | null;
  /** Number of vectors in a row, which are normalised separately. */
  readonly groups: number;
  readonly eps: number;
  readonly residual: number | null;
  readonly outputScale: number;
  readonly y: number;
}

/** What records `rmsNorm` nodes. */
export interface RmsNormOps {
  /**
   * y = x · (mean(x²) + eps)^(-1/2) · gain over the last axis, in float32. A null gain means none.
   */
  rmsNorm<R extends RowAxis, A extends Axis>(
    x: Value<R, A>,
    gain: Vector<NoInfer<A>> | null,
    options: { eps: number },
  ): Value<R, A>;

  /** `rmsNorm` of each of the `heads` vectors of a row. */
  rmsNormHeads<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; heads: number },
  ): Value<R, A>;
}

/** What the recorder knows of `rmsNorm` nodes, and their `rms_norm` command. */
export const rmsNorm: Family<RmsNormNode, RmsNormOps> = {
  reads: (node) => (node.residual === null ? [node.x] : [node.x, node.residual]),
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'rms_norm',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      groups: node.groups,
      width: graph.values[node.x]!.width / node.groups,
      xStride: strideOf(graph, node.x),
      residualStride: node.residual === null ? 0 : strideOf(graph, node.residual),
      yStride: strideOf(graph, node.y),
      gainType: node.gain === null ? 0 : scalarCode(node.gain.dtype),
      hasGain: node.gain === null ? 0 : 1,
      hasResidual: node.residual === null ? 0 : 1,
      eps: node.eps,
      outputScale: node.outputScale,
    },
    operands: [
      { value: node.x },
      node.gain === null ? null : vectorOperand(node.gain),
      node.residual === null ? null : { value: node.residual },
      { value: node.y, isOutput: true },
    ],
    weightBytes: node.gain?.data.sizeBytes ?? 0,
  }),
  operations: (recording) => {
    const rmsNormHeads: RmsNormOps['rmsNormHeads'] = (x, gain, { eps, heads }) => {
      const width = recording.headWidth('rmsNorm', x, heads);
      if (gain) recording.expectLength('rmsNorm', 'gain', gain, width);
      return recording.result(x.rows, x.width, 'rms_norm', (y, label): RmsNormNode => {
        return {
          kind: 'rmsNorm',
          label,
          x: x.id,
          gain,
          groups: heads,
          eps,
          residual: null,
          outputScale: 1,
          y,
        };
      });
    };
    return { rmsNorm: (x, gain, { eps }) => rmsNormHeads(x, gain, { eps, heads: 1 }), rmsNormHeads };
  },
};

/** True for a norm over whole rows into which nothing has been fused yet. */
export function isPlainNorm(node: RmsNormNode): boolean {
  return node.groups === 1 && node.residual === null;
}
