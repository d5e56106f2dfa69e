import type { Graph, Node } from '../recorder/graph.js';
import { attention } from './attention.js';
import { elementwise } from './elementwise.js';
import { embed } from './embed.js';
import { gatherRows } from './gather-rows.js';
import { kvAppend } from './kv-append.js';
import { linear } from './linear.js';
import { moeCombine } from './moe-combine.js';
import { moeLinear } from './moe-linear.js';
import { moeRoute } from './moe-route.js';
import type { EncodedCommand, Family } from './node.js';
import { rmsNorm } from './rms-norm.js';
import { rope } from './rope.js';
import { ropeTable } from './rope-table.js';
import { sample } from './sample.js';

const families: { readonly [Kind in Node['kind']]: Family<Extract<Node, { kind: Kind }>> } = {
  embed,
  rmsNorm,
  linear,
  elementwise,
  ropeTable,
  rope,
  kvAppend,
  attention,
  gatherRows,
  moeRoute,
  moeLinear,
  moeCombine,
  sample,
};

function familyOf(node: Node): Family<Node> {
  return families[node.kind] as unknown as Family<Node>;
}

/** Values that a node reads. */
export function readsOf(node: Node): number[] {
  return familyOf(node).reads(node);
}

/** Values that a node writes. */
export function writesOf(node: Node): number[] {
  return familyOf(node).writes(node);
}

/** The command of a node. */
export function encodeNode(node: Node, graph: Graph, options: { isFast: boolean }): EncodedCommand {
  return familyOf(node).encode(node, graph, options);
}
