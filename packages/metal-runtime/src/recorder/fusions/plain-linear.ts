import type { LinearNode } from '../../../families/linear/node.js';
import type { Node } from '../graph.js';

/** A linear of one weight that stores its products, without a prologue; it may have a clip. */
export function plainLinear(node: Node | null): LinearNode | null {
  if (node?.kind !== 'linear' || node.weights.length !== 1 || node.epilogue.kind !== 'store') return null;
  return node.norm || node.residual ? null : node;
}
