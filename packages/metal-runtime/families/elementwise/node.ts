import { type Family, rowSetCode } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/**
 * (a + b) · scale, a · scale, gelu_tanh(a) · b, scale · tanh(a / scale), min(max(a, scale), high), or a · sigmoid(b).
 */
export interface ElementwiseNode {
  readonly kind: 'elementwise';
  readonly label: string;
  readonly op: keyof typeof OP_CODES;
  readonly a: number;
  readonly b: number | null;
  /** Factor, cap, or lower bound. */
  readonly scale: number;
  /** Upper bound of clamp. */
  readonly high: number;
  readonly y: number;
}

const OP_CODES = { add: 0, scale: 1, geglu: 2, softcap: 3, clamp: 4, glu: 5 } as const;

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
      high: node.high,
    },
    operands: [
      { value: node.a },
      node.b === null ? null : { value: node.b },
      { value: node.y, isOutput: true },
    ],
    weightBytes: 0,
  }),
};
