import type { AttentionNode } from '../ops/attention.js';
import type { CausalConvNode } from '../ops/causal-conv.js';
import type { ColumnAffineNode } from '../ops/column-affine.js';
import type { Conv2dNode } from '../ops/conv2d.js';
import type { ElementwiseNode } from '../ops/elementwise.js';
import type { EmbedNode } from '../ops/embed.js';
import type { GatherRowsNode } from '../ops/gather-rows.js';
import type { KvAppendNode } from '../ops/kv-append.js';
import type { KvCopyNode } from '../ops/kv-copy.js';
import type { LayerNormNode } from '../ops/layer-norm.js';
import type { LinearNode } from '../ops/linear.js';
import type { LocalAttentionNode } from '../ops/local-attention.js';
import type { MoeCombineNode } from '../ops/moe-combine.js';
import type { MoeLinearNode } from '../ops/moe-linear.js';
import type { MoeRouteNode } from '../ops/moe-route.js';
import type { PoolRowsNode } from '../ops/pool-rows.js';
import type { RmsNormNode } from '../ops/rms-norm.js';
import type { RopeNode } from '../ops/rope.js';
import type { RopeTableNode } from '../ops/rope-table.js';
import type { SampleNode } from '../ops/sample.js';
import type { SegmentAttentionNode } from '../ops/segment-attention.js';

/** One recorded operation, plain or fused; the fused parts are optional fields. */
export type Node =
  | EmbedNode
  | RmsNormNode
  | LinearNode
  | ElementwiseNode
  | RopeTableNode
  | RopeNode
  | KvAppendNode
  | KvCopyNode
  | AttentionNode
  | GatherRowsNode
  | MoeRouteNode
  | MoeLinearNode
  | MoeCombineNode
  | SampleNode
  | LayerNormNode
  | ColumnAffineNode
  | PoolRowsNode
  | SegmentAttentionNode
  | Conv2dNode
  | CausalConvNode
  | LocalAttentionNode;

/** Rows of a value: all tokens, the output rows, or rows of its own ('S'). */
export type Rows = 'T' | 'N' | 'S';

/** What the recorder knows of a value. A view shares the memory of its base. */
export interface ValueRecord {
  readonly id: number;
  readonly rows: Rows;
  readonly width: number;
  readonly maxRows: number;
  readonly view: { readonly base: number; readonly offset: number } | null;
}

/** A recorded program before it is planned: operations in order, values, and what goes in and out. */
export interface Graph {
  nodes: Node[];
  readonly values: ValueRecord[];
  readonly inputs: Map<string, number>;
  readonly outputs: Map<string, number>;
}

/** The value that owns the memory of `id`. */
export function baseOf(graph: Graph, id: number): number {
  return graph.values[id]?.view?.base ?? id;
}

/** Elements between two rows of a value in memory. */
export function strideOf(graph: Graph, id: number): number {
  return graph.values[baseOf(graph, id)]!.width;
}
