import {
  type AnyVector,
  cacheOperands,
  type Family,
  rowSetCode,
  scalarCode,
  vectorOperand,
} from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { KvCache } from '../../src/weights.js';

/** Head norms, rotation and cache append that the attention command does first, on raw projections. */
export interface AttentionPrepare {
  readonly qGain: AnyVector;
  readonly table: number;
  readonly eps: number;
  /** Null when the layer reads another layer's cache. `v` is the raw k of a layer without a v projection. */
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

/** What the recorder knows of `attention` nodes, and their `attention` command. */
export const attention: Family<AttentionNode> = {
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
};
