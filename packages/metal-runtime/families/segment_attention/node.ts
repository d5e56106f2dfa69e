import { type AnyVector, type Family, rowSetCode, scalarCode, vectorOperand } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';

/** Head norms and rotation that the command does itself on raw projections. */
export interface SegmentPrepare {
  readonly qGain: AnyVector;
  readonly kGain: AnyVector;
  readonly table: number;
  /** Parts of a head that are rotated on their own. */
  readonly axes: number;
  readonly eps: number;
}

/** softmax(q kᵀ) v per head over the rows of the own segment. */
export interface SegmentAttentionNode {
  readonly kind: 'segmentAttention';
  readonly label: string;
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly heads: number;
  readonly kvHeads: number;
  readonly prepare: SegmentPrepare | null;
  readonly y: number;
}

/** What the recorder knows of `segmentAttention` nodes, and their `segment_attention` command. */
export const segmentAttention: Family<SegmentAttentionNode> = {
  needs: ['positions', 'visibleEnd'],
  reads: (node) => [node.q, node.k, node.v, ...(node.prepare ? [node.prepare.table] : [])],
  writes: (node) => [node.y],
  encode: (node, graph, options) => {
    const { prepare } = node;
    return {
      family: 'segment_attention',
      attributes: {
        rowSet: rowSetCode(graph, node.q),
        heads: node.heads,
        kvHeads: node.kvHeads,
        width: graph.values[node.q]!.width / node.heads,
        qStride: strideOf(graph, node.q),
        kStride: strideOf(graph, node.k),
        vStride: strideOf(graph, node.v),
        outStride: strideOf(graph, node.y),
        isFast: options.isFast ? 1 : 0,
        hasPrepare: prepare ? 1 : 0,
        qGainType: prepare ? scalarCode(prepare.qGain.dtype) : 0,
        kGainType: prepare ? scalarCode(prepare.kGain.dtype) : 0,
        axes: prepare?.axes ?? 1,
        eps: prepare?.eps ?? 0,
      },
      operands: [
        { value: node.q },
        { value: node.k },
        { value: node.v },
        { value: node.y, isOutput: true },
        prepare ? vectorOperand(prepare.qGain) : null,
        prepare ? vectorOperand(prepare.kGain) : null,
        prepare ? { value: prepare.table } : null,
      ],
      weightBytes: 0,
    };
  },
};
