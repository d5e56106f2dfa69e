import type { MoeLinearNode } from '../../../families/moe_linear/node.js';
import type { Node } from '../graph.js';
import type { Uses } from '../uses.js';
import type { Fusion } from './fusion.js';
import { rowNormOf } from './row-norm.js';

/** geglu(moeLinear, moeLinear) on the same rows and experts → one command that stores gelu(gate) · up. */
export const moeGeglu: Fusion = {
  name: 'geglu',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'geglu' || node.b === null) return null;
    const [gate, up] = [storingMoeLinear(node.a, uses), storingMoeLinear(node.b, uses)];
    if (!gate || !up || gate === up || gate.x !== up.x || gate.experts !== up.experts) return null;
    if (gate.weights[0]!.matrix.rows !== up.weights[0]!.matrix.rows) return null;
    if (!uses.isOnlyReadBy(node.a, node) || !uses.isOnlyReadBy(node.b, node)) return null;
    const weights = [...gate.weights, ...up.weights];
    return {
      replacement: { ...gate, weights, epilogue: { kind: 'geglu', y: node.y } },
      absorbed: [gate, up],
    };
  },
};

/** moeCombine(moeLinear) → the command sums the outputs of the experts itself. */
export const moeCombineLinear: Fusion = {
  name: 'moe-combine',
  match(node, uses) {
    if (node.kind !== 'moeCombine') return null;
    const linear = storingMoeLinear(node.x, uses);
    if (!linear || !uses.isOnlyReadBy(node.x, node)) return null;
    return {
      replacement: { ...linear, epilogue: { kind: 'combine', shares: node.shares, y: node.y } },
      absorbed: [linear],
    };
  },
};

/** moeLinear(rmsNorm(x)) → the command normalises its rows itself. */
export const normMoeLinear: Fusion = {
  name: 'norm-linear',
  match(node, uses) {
    if (node.kind !== 'moeLinear' || node.norm || node.hasSlices) return null;
    const found = rowNormOf(node.x, node, uses);
    return found && { replacement: { ...node, x: found.x, norm: found.norm }, absorbed: [found.node] };
  },
};

/** moeRoute + the first moeLinear that follows it → one command, which stores the routing for the other commands. */
export const routeMoeLinear: Fusion = {
  name: 'moe-route',
  match(node, uses, graph) {
    if (node.kind !== 'moeLinear' || node.routing || node.epilogue.kind === 'combine') return null;
    const route = uses.producer(node.experts);
    if (route?.kind !== 'moeRoute') return null;
    const readers = new Set([...uses.readers(node.experts), ...uses.readers(route.routing.shares)]);
    // The routing exists once this command has run, so nothing may read it earlier.
    if (graph.nodes.find((other) => readers.has(other)) !== node) return null;
    return { replacement: { ...node, routing: route.routing }, absorbed: [route] };
  },
};

function storingMoeLinear(id: number, uses: Uses): MoeLinearNode | null {
  const producer: Node | null = uses.producer(id);
  return producer?.kind === 'moeLinear' && producer.epilogue.kind === 'store' ? producer : null;
}
