import { cacheOperands, type Family, rowSetCode, scalarCode } from '../../src/ops/node.js';
import { strideOf } from '../../src/recorder/graph.js';
import type { KvCache } from '../../src/weights.js';

/** Copies what one slot holds at each row's position to the row's slot. */
export interface KvCopyNode {
  readonly kind: 'kvCopy';
  readonly label: string;
  readonly cache: KvCache;
  /** [R, 1] number of the slot to copy from. */
  readonly source: number;
}

/** What the recorder knows of `kvCopy` nodes, and their `kv_copy` command. */
export const kvCopy: Family<KvCopyNode> = {
  needs: ['positions'],
  reads: (node) => [node.source],
  writes: () => [],
  encode: (node, graph) => ({
    family: 'kv_copy',
    attributes: {
      rowSet: rowSetCode(graph, node.source),
      sourceStride: strideOf(graph, node.source),
      width: node.cache.kvHeadCount * node.cache.headWidth,
      slots: node.cache.slotCount,
      capacity: node.cache.capacityTokens,
      cacheType: scalarCode(node.cache.dtype),
    },
    operands: [{ value: node.source }, ...cacheOperands(node.cache, true)],
    weightBytes: 0,
  }),
};
