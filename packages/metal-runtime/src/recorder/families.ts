import { families } from '../../families/nodes.js';
import type { EncodedCommand, EncodeOptions, Family, StepArray } from './family.js';
import type { Node } from './graph.js';
import type { ValueTable } from './values.js';

/** The families by kind of node. */
const table: { readonly [Kind in Node['kind']]: Family<Extract<Node, { kind: Kind }>> } = families;

function familyOf(node: Node): Family<Node> {
  return table[node.kind] as unknown as Family<Node>;
}

/** Values that a node reads. */
export function readsOf(node: Node): number[] {
  return familyOf(node).reads(node);
}

/** Values that a node writes. */
export function writesOf(node: Node): number[] {
  return familyOf(node).writes(node);
}

/** Arrays that every step of a program with this node must have. */
export function needsOf(node: Node): readonly StepArray[] {
  return familyOf(node).needs ?? [];
}

/** The command of a node. */
export function encodeNode(node: Node, values: ValueTable, options: EncodeOptions): EncodedCommand {
  return familyOf(node).encode(node, values, options);
}
