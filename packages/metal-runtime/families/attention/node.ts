import { ShapeMismatchError } from '@markbase/core';
import type { RowAxis } from '../../src/axes.js';
import {
  type AnyVector,
  cacheKind,
  cacheOperands,
  type Family,
  scalarCode,
  vectorOperand,
} from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { KvCache } from '../../src/weights.js';

/** Head norms, rotation and cache append, which the attention command applies first, to raw projections. */
export interface AttentionPrepare {
  readonly qGain: AnyVector;
  readonly table: number;
  readonly eps: number;
  /** Null if the layer reads another layer's cache. In a layer without a v projection, `v` is the raw k. */
  readonly kv: { readonly k: number; readonly v: number; readonly kGain: AnyVector } | null;
}

/** out = softmax(q kᵀ) v over the cache. */
export interface AttentionNode {
  readonly kind: 'attention';
  readonly label: string;
  readonly q: number;
  readonly cache: KvCache;
  readonly heads: number;
  readonly prepare: AttentionPrepare | null;
  readonly y: number;
}

/** What records `attention` nodes. */
export interface AttentionOps {
  /**
   * `[R, HK]`: softmax(q kᵀ) v per head, scale 1, over the positions that the row sees: the last `cache.windowTokens`
   * up to `visibleEnd` in a sliding layer, all up to its own in a full layer. Query head h reads kv head h / (H/G).
   */
  attention<R extends RowAxis>(q: Value<R, 'HK'>, cache: KvCache, options: { heads: number }): Value<R, 'HK'>;
}

/** What the recorder knows of `attention` nodes, and their `attention` command. */
export const attention: Family<AttentionNode, AttentionOps> = {
  needs: ['positions'],
  reads: (node) => [
    node.q,
    ...(node.prepare ? [node.prepare.table] : []),
    ...(node.prepare?.kv ? [node.prepare.kv.k, node.prepare.kv.v] : []),
  ],
  writes: (node) => [node.y],
  encode: (node, graph, options) => {
    const { cache, prepare } = node;
    const kv = prepare?.kv ?? null;
    return {
      family: 'attention',
      attributes: {
        rowSet: rowSetCode(graph, node.q),
        heads: node.heads,
        kvHeads: cache.kvHeadCount,
        width: cache.headWidth,
        qStride: strideOf(graph, node.q),
        kStride: kv ? strideOf(graph, kv.k) : 0,
        vStride: kv ? strideOf(graph, kv.v) : 0,
        outStride: strideOf(graph, node.y),
        capacity: cache.capacityTokens,
        cacheKind: cacheKind(cache),
        window: cache.windowTokens ?? 0,
        cacheType: scalarCode(cache.dtype),
        hasPrepare: prepare ? 1 : 0,
        hasKv: kv ? 1 : 0,
        gainType: prepare ? scalarCode(prepare.qGain.dtype) : 0,
        eps: prepare?.eps ?? 0,
        isFast: options.isFast ? 1 : 0,
        hasFewRows: options.hasFewRows ? 1 : 0,
      },
      operands: [
        { value: node.q },
        ...cacheOperands(cache, kv !== null),
        { value: node.y, isOutput: true },
        prepare ? vectorOperand(prepare.qGain) : null,
        prepare ? { value: prepare.table } : null,
        kv ? { value: kv.k } : null,
        kv ? { value: kv.v } : null,
        kv ? vectorOperand(kv.kGain) : null,
      ],
      weightBytes: 0,
    };
  },
  operations: (recording) => ({
    attention(q, cache, { heads }) {
      recording.expectWidth('attention', 'q', q, heads * cache.headWidth);
      if (heads % cache.kvHeadCount !== 0) {
        throw new ShapeMismatchError({
          operation: 'attention',
          argument: 'heads',
          expected: `a multiple of ${cache.kvHeadCount} key/value heads`,
          received: String(heads),
        });
      }
      return recording.result(q.rows, q.width, 'attention', (y, label): AttentionNode => {
        return { kind: 'attention', label, q: q.id, cache, heads, prepare: null, y };
      });
    },
  }),
};
