import { ShapeMismatchError } from '@markbase/core';
import type { RowAxis } from '../../src/axes.js';
import { type AnyVector, type Family, scalarCode, vectorOperand } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/** Head norms and rotation that the command applies itself to raw projections. */
export interface SegmentPrepare {
  readonly qGain: AnyVector;
  readonly kGain: AnyVector;
  readonly table: number;
  /** Number of parts of a head, which are rotated separately. */
  readonly axes: number;
  readonly eps: number;
}

/** softmax(q kᵀ) v per head over the rows of the same segment. */
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

/** What records `segmentAttention` nodes. */
export interface SegmentAttentionOps {
  /**
   * `[R, HK]`: softmax(q kᵀ) v per head, scale 1, over all rows of the row's segment: an image, a frame. The rows of a
   * segment are adjacent in the step; `positions` counts them from 0, and `visibleEnd` is the position of the last one.
   * Query head h reads key and value head h / (H/G).
   */
  segmentAttention<R extends RowAxis>(
    q: Value<R, 'HK'>,
    k: Value<NoInfer<R>, 'GK'>,
    v: Value<NoInfer<R>, 'GK'>,
    options: { heads: number; kvHeads: number },
  ): Value<R, 'HK'>;
}

/** What the recorder knows of `segmentAttention` nodes, and their `segment_attention` command. */
export const segmentAttention: Family<SegmentAttentionNode, SegmentAttentionOps> = {
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
  operations: (recording) => ({
    segmentAttention(q, k, v, { heads, kvHeads }) {
      const width = recording.headWidth('segmentAttention', q, heads);
      for (const [argument, value] of Object.entries({ k, v })) {
        recording.expectRows('segmentAttention', argument, value, q);
        recording.expectWidth('segmentAttention', argument, value, kvHeads * width);
      }
      if (heads % kvHeads !== 0 || width % 2 !== 0) {
        throw new ShapeMismatchError({
          operation: 'segmentAttention',
          argument: 'heads',
          expected: `a multiple of ${kvHeads} key/value heads, of an even width`,
          received: `${heads} heads of ${width}`,
        });
      }
      return recording.result(q.rows, q.width, 'segment_attention', (y, label): SegmentAttentionNode => {
        const rows = { q: q.id, k: k.id, v: v.id };
        return { kind: 'segmentAttention', label, ...rows, heads, kvHeads, prepare: null, y };
      });
    },
  }),
};
