import { attention } from '../../families/attention/node.js';
import { causalConv } from '../../families/causal_conv/node.js';
import { columnAffine } from '../../families/column_affine/node.js';
import { conv2d } from '../../families/conv2d/node.js';
import { elementwise } from '../../families/elementwise/node.js';
import { embed } from '../../families/embed/node.js';
import { gatherRows } from '../../families/gather_rows/node.js';
import { kvAppend } from '../../families/kv_append/node.js';
import { kvCopy } from '../../families/kv_copy/node.js';
import { layerNorm } from '../../families/layer_norm/node.js';
import { linear } from '../../families/linear/node.js';
import { localAttention } from '../../families/local_attention/node.js';
import { moeCombine } from '../../families/moe_combine/node.js';
import { moeLinear } from '../../families/moe_linear/node.js';
import { moeRoute } from '../../families/moe_route/node.js';
import { poolRows } from '../../families/pool_rows/node.js';
import { rmsNorm } from '../../families/rms_norm/node.js';
import { rope } from '../../families/rope/node.js';
import { ropeTable } from '../../families/rope_table/node.js';
import { sample } from '../../families/sample/node.js';
import { segmentAttention } from '../../families/segment_attention/node.js';
import type { Graph, Node } from '../recorder/graph.js';
import type { EncodedCommand, EncodeOptions, Family, StepArray } from './node.js';

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
