import { strideOf } from '../recorder/graph.js';
import { type Family, rowSetCode } from './node.js';

/** (a + b) · scale, a · scale, gelu_tanh(a) · b, or scale · tanh(a / scale). */
export interface ElementwiseNode {
  readonly kind: 'elementwise';
  readonly label: string;
  readonly op: keyof typeof OP_CODES;
  readonly a: number;
  readonly b: number | null;
  readonly scale: number;
  readonly y: number;
}

const OP_CODES = { add: 0, scale: 1, geglu: 2, softcap: 3 } as const;

/** What the recorder knows of `elementwise` nodes, and their `elementwise` command. */
export const elementwise: Family<ElementwiseNode> = {
  reads: (node) => (node.b === null ? [node.a] : [node.a, node.b]),
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'elementwise',
    attributes: {
      op: OP_CODES[node.op],
      rowSet: rowSetCode(graph, node.a),
      width: graph.values[node.a]!.width,
      aStride: strideOf(graph, node.a),
      bStride: node.b === null ? 0 : strideOf(graph, node.b),
      yStride: strideOf(graph, node.y),
      scale: node.scale,
    },
    operands: [
      { value: node.a },
      node.b === null ? null : { value: node.b },
      { value: node.y, isOutput: true },
    ],
    weightBytes: 0,
  }),
};
