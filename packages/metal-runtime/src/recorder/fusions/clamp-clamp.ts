import type { ElementwiseNode } from '../../../families/elementwise/node.js';
import type { Node } from '../graph.js';
import type { Fusion } from './fusion.js';

/** clamp(clamp(x)) → one clamp: the outer bounds, applied to the inner ones. */
export const clampClamp: Fusion = {
  name: 'clamp-clamp',
  match(node, uses) {
    if (!isClamp(node)) return null;
    const inner = uses.producer(node.a);
    if (!isClamp(inner) || !uses.isOnlyReadBy(node.a, node)) return null;
    const bounded = (bound: number) => Math.min(Math.max(bound, node.scale), node.high);
    const range = { scale: bounded(inner.scale), high: bounded(inner.high) };
    return { replacement: { ...node, a: inner.a, ...range }, absorbed: [inner] };
  },
};

function isClamp(node: Node | null): node is ElementwiseNode {
  return node?.kind === 'elementwise' && node.op === 'clamp';
}
