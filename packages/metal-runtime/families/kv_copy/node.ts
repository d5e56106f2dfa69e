import type { RowAxis } from '../../src/axes.js';
import { cacheKind, cacheOperands, type Family, scalarCode } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { KvCache } from '../../src/weights.js';

/** Copies keys and values at each row's position from another block. */
export interface KvCopyNode {
  readonly kind: 'kvCopy';
  readonly label: string;
  readonly cache: KvCache;
  /** [R, 1] the block to copy from. */
  readonly source: number;
}

/** What records `kvCopy` nodes. */
export interface KvCopyOps {
  /**
   * Copies keys and values at each row's position from block `source` [R, 1] to the block of the row's sequence, so
   * that sequences begin alike. If the source is not a block of the cache, nothing is copied.
   */
  copyKv<R extends RowAxis>(cache: KvCache, source: Value<R, 'X'>): void;
}

/** What the recorder knows of `kvCopy` nodes, and their `kv_copy` command. */
export const kvCopy: Family<KvCopyNode, KvCopyOps> = {
  needs: ['positions'],
  reads: (node) => [node.source],
  writes: () => [],
  encode: (node, graph) => ({
    family: 'kv_copy',
    attributes: {
      rowSet: rowSetCode(graph, node.source),
      sourceStride: strideOf(graph, node.source),
      width: node.cache.kvHeadCount * node.cache.headWidth,
      blocks: node.cache.blockCount,
      cacheKind: cacheKind(node.cache),
      cacheType: scalarCode(node.cache.dtype),
    },
    operands: [{ value: node.source }, ...cacheOperands(node.cache, true)],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    copyKv(cache, source) {
      recording.expectWidth('copyKv', 'source', source, 1);
      const label = recording.label('kv_copy');
      recording.push<KvCopyNode>({ kind: 'kvCopy', label, cache, source: source.id });
    },
  }),
};
