import { type AnyVector, type Family, rowSetCode, scalarCode, vectorOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** y = (x - mean) · (variance + eps)^(-1/2) · gain + bias. */
export interface LayerNormNode {
  readonly kind: 'layerNorm';
  readonly label: string;
  readonly x: number;
  readonly gain: AnyVector | null;
  readonly bias: AnyVector | null;
  /** Vectors of a row that are normalised on their own. */
  readonly groups: number;
  readonly eps: number;
  readonly y: number;
}

/** What the recorder knows of `layerNorm` nodes, and their `layer_norm` command. */
export const layerNorm: Family<LayerNormNode> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'layer_norm',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      groups: node.groups,
      width: graph.values[node.x]!.width / node.groups,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      hasGain: node.gain ? 1 : 0,
      gainType: node.gain ? scalarCode(node.gain.dtype) : 0,
      hasBias: node.bias ? 1 : 0,
      biasType: node.bias ? scalarCode(node.bias.dtype) : 0,
      eps: node.eps,
    },
    operands: [
      { value: node.x },
      node.gain && vectorOperand(node.gain),
      node.bias && vectorOperand(node.bias),
      { value: node.y, isOutput: true },
    ],
    weightBytes: (node.gain?.data.sizeBytes ?? 0) + (node.bias?.data.sizeBytes ?? 0),
  }),
};
