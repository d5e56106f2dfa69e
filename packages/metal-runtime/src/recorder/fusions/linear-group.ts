import { type LinearNode, MAX_LINEAR_WEIGHTS } from '../../../families/linear/node.js';
import type { Node } from '../graph.js';
import type { Fusion } from './fusion.js';

/** Several linears of the same rows (q, k, v; gate, up) → one command with several weights. */
export const linearGroup: Fusion = {
  name: 'linear-group',
  match(node, uses) {
    if (!isPlain(node)) return null;
    const others = uses
      .readers(node.x)
      .filter((reader) => reader !== node && isPlain(reader) && isAlike(reader, node));
    const group = [node, ...(others as LinearNode[])].slice(0, MAX_LINEAR_WEIGHTS);
    // Only the first of a group starts it; the others are absorbed into it.
    if (
      group.length < 2 ||
      uses.readers(node.x).find((reader) => isPlain(reader) && isAlike(reader, node)) !== node
    ) {
      return null;
    }
    const weights = group.flatMap((linear) => linear.weights);
    if (weights.length > MAX_LINEAR_WEIGHTS) return null;
    return { replacement: { ...node, weights }, absorbed: group.slice(1) };
  },
};

function isPlain(node: Node): node is LinearNode {
  return (
    node.kind === 'linear' &&
    node.epilogue.kind === 'store' &&
    node.weights.length === 1 &&
    node.gathered === null
  );
}

/** True for linears that may share a command: with the same rows and precision. */
function isAlike(a: LinearNode, b: LinearNode): boolean {
  return a.x === b.x && a.isHigh === b.isHigh;
}
