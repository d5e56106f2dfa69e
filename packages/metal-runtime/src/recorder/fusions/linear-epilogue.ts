import type { LinearNode } from '../../../families/linear/node.js';
import type { Node } from '../graph.js';
import type { Uses } from '../uses.js';
import type { Fusion } from './fusion.js';

/** geglu(linear, linear) → one command that stores gelu(gate) · up; geglu(linear, other) → it multiplies by `other`. */
export const geglu: Fusion = {
  name: 'geglu',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'geglu' || node.b === null) return null;
    const linear = storingLinear(node.a, uses);
    if (!linear || !uses.isOnlyReadBy(node.a, node)) return null;
    if (linear.weights.length === 2 && linear.weights[0]!.y === node.a && linear.weights[1]!.y === node.b) {
      if (!uses.isOnlyReadBy(node.b, node)) return null;
      return { replacement: { ...linear, epilogue: { kind: 'geglu', y: node.y } }, absorbed: [linear] };
    }
    if (linear.weights.length !== 1) return null;
    const epilogue = { kind: 'gegluMul', operand: node.b, y: node.y } as const;
    return { replacement: { ...linear, epilogue }, absorbed: [linear] };
  },
};

/** softcap(linear) → the command caps its result. */
export const softcap: Fusion = {
  name: 'softcap',
  match(node, uses) {
    if (node.kind !== 'elementwise' || node.op !== 'softcap') return null;
    const linear = storingLinear(node.a, uses);
    if (linear?.weights.length !== 1 || !uses.isOnlyReadBy(node.a, node)) return null;
    return {
      replacement: { ...linear, epilogue: { kind: 'softcap', cap: node.scale, y: node.y } },
      absorbed: [linear],
    };
  },
};

function storingLinear(id: number, uses: Uses): LinearNode | null {
  const producer: Node | null = uses.producer(id);
  return producer?.kind === 'linear' && producer.epilogue.kind === 'store' ? producer : null;
}
