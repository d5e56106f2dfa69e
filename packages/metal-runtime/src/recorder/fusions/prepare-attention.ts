import type { AttentionNode, AttentionPrepare } from '../../../families/attention/node.js';
import type { KvAppendNode } from '../../../families/kv_append/node.js';
import type { RmsNormNode } from '../../../families/rms_norm/node.js';
import type { RopeNode } from '../../../families/rope/node.js';
import type { Graph, Node } from '../graph.js';
import type { Uses } from '../uses.js';
import type { Fusion } from './fusion.js';

/** Head norms + rope + cache append + attention → one command on the raw projections. */
export const prepareAttention: Fusion = {
  name: 'prepare-attention',
  match(node, uses, graph) {
    if (node.kind !== 'attention' || node.prepare) return null;
    const query = rotatedHeads(node.q, node, uses);
    if (!query) return null;
    const append = ownAppend(node, graph);
    const kv = append ? keyValue(append, query, uses) : null;
    if (append && !kv) return null;
    const prepare: AttentionPrepare = {
      qGain: query.gain,
      table: query.rope.table,
      eps: query.norm.eps,
      kv: kv && { k: kv.k, v: kv.v, kGain: kv.kGain },
    };
    return {
      replacement: { ...node, q: query.norm.x, prepare },
      absorbed: [query.norm, query.rope, ...(kv?.nodes ?? [])],
    };
  },
};

interface RotatedHeads {
  readonly rope: RopeNode;
  readonly norm: RmsNormNode;
  readonly gain: NonNullable<RmsNormNode['gain']>;
}

/** rope(rmsNormHeads(x)) that only `reader` reads. */
function rotatedHeads(id: number, reader: Node, uses: Uses): RotatedHeads | null {
  const rope = uses.producer(id);
  if (rope?.kind !== 'rope' || !uses.isOnlyReadBy(id, reader)) return null;
  const norm = uses.producer(rope.x);
  if (norm?.kind !== 'rmsNorm' || norm.residual !== null || norm.gain === null) return null;
  if (norm.groups !== rope.heads || !uses.isOnlyReadBy(rope.x, rope)) return null;
  return { rope, norm, gain: norm.gain };
}

/** The append of the same rows to this layer's cache; null if the layer reads another layer's cache. */
function ownAppend(node: AttentionNode, graph: Graph): KvAppendNode | null {
  const index = graph.nodes.indexOf(node);
  const rows = graph.values[node.q]!.rows;
  for (let i = index - 1; i >= 0; i--) {
    const candidate = graph.nodes[i]!;
    // An append after another attention belongs to that one.
    if (candidate.kind === 'attention') return null;
    if (candidate.kind !== 'kvAppend' || candidate.cache.keys !== node.cache.keys) continue;
    return graph.values[candidate.k]!.rows === rows ? candidate : null;
  }
  return null;
}

function keyValue(
  append: KvAppendNode,
  query: RotatedHeads,
  uses: Uses,
): { k: number; v: number; kGain: RotatedHeads['gain']; nodes: Node[] } | null {
  const key = rotatedHeads(append.k, append, uses);
  const value = uses.producer(append.v);
  if (!key || value?.kind !== 'rmsNorm' || value.residual !== null || value.gain !== null) return null;
  if (!uses.isOnlyReadBy(append.v, append) || value.groups !== key.norm.groups) return null;
  if (key.rope.table !== query.rope.table || key.gain.dtype !== query.gain.dtype) return null;
  if (key.norm.eps !== query.norm.eps || value.eps !== query.norm.eps) return null;
  return { k: key.norm.x, v: value.x, kGain: key.gain, nodes: [key.norm, key.rope, value, append] };
}
