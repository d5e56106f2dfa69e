import type { RmsNormNode } from '../../../families/rms_norm/node.js';
import type { RopeNode } from '../../../families/rope/node.js';
import type { Node } from '../graph.js';
import type { Uses } from '../uses.js';
import type { Fusion } from './fusion.js';

/** Head norms + rope of q and k, head norm of v + segment attention → one command on the raw projections. */
export const prepareSegmentAttention: Fusion = {
  name: 'prepare-attention',
  match(node, uses) {
    if (node.kind !== 'segmentAttention' || node.prepare) return null;
    const query = rotatedHeads(node.q, node.heads, node, uses);
    const key = rotatedHeads(node.k, node.kvHeads, node, uses);
    const value = headNorm(node.v, node.kvHeads, node, uses);
    if (!query?.norm.gain || !key?.norm.gain || !value || value.gain !== null) return null;
    const { table, axes } = query.rope;
    if (key.rope.table !== table || key.rope.axes !== axes) return null;
    const { eps } = query.norm;
    if (key.norm.eps !== eps || value.eps !== eps) return null;
    const prepare = { qGain: query.norm.gain, kGain: key.norm.gain, table, axes, eps };
    return {
      replacement: { ...node, q: query.norm.x, k: key.norm.x, v: value.x, prepare },
      absorbed: [query.norm, query.rope, key.norm, key.rope, value],
    };
  },
};

/** rope(rmsNormHeads(x)) that only `reader` reads. */
function rotatedHeads(
  id: number,
  heads: number,
  reader: Node,
  uses: Uses,
): { rope: RopeNode; norm: RmsNormNode } | null {
  const rope = uses.producer(id);
  if (rope?.kind !== 'rope' || !uses.isOnlyReadBy(id, reader)) return null;
  const norm = headNorm(rope.x, heads, rope, uses);
  return norm && { rope, norm };
}

function headNorm(id: number, heads: number, reader: Node, uses: Uses): RmsNormNode | null {
  const norm = uses.producer(id);
  if (norm?.kind !== 'rmsNorm' || norm.residual !== null || norm.groups !== heads) return null;
  return uses.isOnlyReadBy(id, reader) ? norm : null;
}
