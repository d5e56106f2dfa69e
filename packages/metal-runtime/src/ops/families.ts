import type { Graph, Node } from '../recorder/graph.js';
import { attention } from './attention.js';
import { causalConv } from './causal-conv.js';
import { columnAffine } from './column-affine.js';
import { conv2d } from './conv2d.js';
import { elementwise } from './elementwise.js';
import { embed } from './embed.js';
import { gatherRows } from './gather-rows.js';
import { kvAppend } from './kv-append.js';
import { kvCopy } from './kv-copy.js';
import { layerNorm } from './layer-norm.js';
import { linear } from './linear.js';
import { localAttention } from './local-attention.js';
import { moeCombine } from './moe-combine.js';
import { moeLinear } from './moe-linear.js';
import { moeRoute } from './moe-route.js';
import type { EncodedCommand, EncodeOptions, Family, StepArray } from './node.js';
import { poolRows } from './pool-rows.js';
import { rmsNorm } from './rms-norm.js';
import { rope } from './rope.js';
import { ropeTable } from './rope-table.js';
import { sample } from './sample.js';
import { segmentAttention } from './segment-attention.js';

const families: { readonly [Kind in Node['kind']]: Family<Extract<Node, { kind: Kind }>> } = {
  embed,
  rmsNorm,
  linear,
  elementwise,
  ropeTable,
  rope,
  kvAppend,
  kvCopy,
  attention,
  gatherRows,
  moeRoute,
  moeLinear,
  moeCombine,
  layerNorm,
  conv2d,
  causalConv,
  localAttention,
  sample,
  columnAffine,
  poolRows,
  segmentAttention,
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

/** Arrays that a step of a program with this node cannot do without. */
export function needsOf(node: Node): readonly StepArray[] {
  return familyOf(node).needs ?? [];
}

/** The command of a node. */
export function encodeNode(node: Node, graph: Graph, options: EncodeOptions): EncodedCommand {
  return familyOf(node).encode(node, graph, options);
}
