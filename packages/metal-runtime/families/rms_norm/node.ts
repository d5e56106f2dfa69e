import { type AnyVector, type Family, rowSetCode, scalarCode, vectorOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y = rms_norm(x) · gain, or (residual + rms_norm(x) · gain) · outputScale. */
export interface RmsNormNode {
  readonly kind: 'rmsNorm';
  readonly label: string;
  readonly x: number;
  readonly gain: AnyVector | null;
  /** Vectors of a row that are normalised on their own. */
  readonly groups: number;
  readonly eps: number;
  readonly residual: number | null;
  readonly outputScale: number;
  readonly y: number;
}

/** What the recorder knows of `rmsNorm` nodes, and their `rms_norm` command. */
export const rmsNorm: Family<RmsNormNode> = {
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
};

/** True for a norm over whole rows that nothing was fused into yet. */
export function isPlainNorm(node: RmsNormNode): boolean {
  return node.groups === 1 && node.residual === null;
}
