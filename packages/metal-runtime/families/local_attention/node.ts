import { type AnyVector, type Family, floatsOperand, vectorOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { RelativeKeys } from '../../src/weights.js';

/** Most keys that a query of local attention sees: their scores stay in registers. */
export const MAX_LOCAL_REACH = 64;

/** out_t = softmax_d(cap · tanh(s_d / cap)) v_{t-d}, s_d = (queryScale ⊙ q_t) · (keyScale · k_{t-d} + relativeKeys_d). */
export interface LocalAttentionNode {
  readonly kind: 'localAttention';
  readonly label: string;
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly heads: number;
  readonly reach: number;
  readonly cap: number;
  readonly keyScale: number;
  readonly queryScale: AnyVector;
  readonly relativeKeys: RelativeKeys;
  readonly y: number;
}

/** What the recorder knows of `localAttention` nodes, and their `local_attention` command. */
export const localAttention: Family<LocalAttentionNode> = {
  needs: ['positions'],
  reads: (node) => [node.q, node.k, node.v],
  writes: (node) => [node.y],
  encode: (node, graph) => {
    const { relativeKeys } = node;
    return {
      family: 'local_attention',
      attributes: {
        heads: node.heads,
        width: relativeKeys.width / node.heads,
        reach: node.reach,
        qStride: strideOf(graph, node.q),
        kStride: strideOf(graph, node.k),
        vStride: strideOf(graph, node.v),
        outStride: strideOf(graph, node.y),
        keyScale: node.keyScale,
        cap: node.cap,
      },
      operands: [
        { value: node.q },
        { value: node.k },
        { value: node.v },
        vectorOperand(node.queryScale),
        floatsOperand('relativeKeys', relativeKeys.data, relativeKeys.distances * relativeKeys.width),
        { value: node.y, isOutput: true },
      ],
      weightBytes: relativeKeys.data.sizeBytes + node.queryScale.data.sizeBytes,
    };
  },
};
