import { cacheOperands, type Family, rowSetCode, scalarCode } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { KvCache } from '../../src/weights.js';

/** Stores k and v at each row's slot and position. */
export interface KvAppendNode {
  readonly kind: 'kvAppend';
  readonly label: string;
  readonly cache: KvCache;
  readonly k: number;
  readonly v: number;
}

/** What the recorder knows of `kvAppend` nodes, and their `kv_append` command. */
export const kvAppend: Family<KvAppendNode> = {
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
      capacity: node.cache.capacityTokens,
      cacheType: scalarCode(node.cache.dtype),
    },
    operands: [{ value: node.k }, { value: node.v }, ...cacheOperands(node.cache, true)],
    weightBytes: 0,
  }),
};
