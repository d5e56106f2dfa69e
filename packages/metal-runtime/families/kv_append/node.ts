import type { RowAxis } from '../../src/axes.js';
import { cacheKind, cacheOperands, type Family, scalarCode } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { KvCache } from '../../src/weights.js';

/** Stores k and v at each row's slot and position. */
export interface KvAppendNode {
  readonly kind: 'kvAppend';
  readonly label: string;
  readonly cache: KvCache;
  readonly k: number;
  readonly v: number;
}

/** What records `kvAppend` nodes. */
export interface KvAppendOps {
  /** Appends k and v [R, GK] at each row's slot and position. Attention recorded later sees them. */
  appendKv<R extends RowAxis>(cache: KvCache, k: Value<R, 'GK'>, v: Value<NoInfer<R>, 'GK'>): void;
}

/** What the recorder knows of `kvAppend` nodes, and their `kv_append` command. */
export const kvAppend: Family<KvAppendNode, KvAppendOps> = {
  needs: ['positions'],
  reads: (node) => [node.k, node.v],
  writes: () => [],
  encode: (node, graph) => ({
    family: 'kv_append',
    attributes: {
      rowSet: rowSetCode(graph, node.k),
      kvHeads: node.cache.kvHeadCount,
      width: node.cache.headWidth,
      kStride: strideOf(graph, node.k),
      vStride: strideOf(graph, node.v),
      cacheKind: cacheKind(node.cache),
      cacheType: scalarCode(node.cache.dtype),
    },
    operands: [{ value: node.k }, { value: node.v }, ...cacheOperands(node.cache, true)],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    appendKv(cache, k, v) {
      const width = cache.kvHeadCount * cache.headWidth;
      recording.expectWidth('appendKv', 'k', k, width);
      recording.expectWidth('appendKv', 'v', v, width);
      recording.expectRows('appendKv', 'v', v, k);
      const label = recording.label('kv_append');
      recording.push<KvAppendNode>({ kind: 'kvAppend', label, cache, k: k.id, v: v.id });
    },
  }),
};
