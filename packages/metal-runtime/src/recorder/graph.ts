import type { AttentionNode } from '../../families/attention/node.js';
import type { CausalConvNode } from '../../families/causal_conv/node.js';
import type { ColumnAffineNode } from '../../families/column_affine/node.js';
import type { Conv2dNode } from '../../families/conv2d/node.js';
import type { ElementwiseNode } from '../../families/elementwise/node.js';
import type { EmbedNode } from '../../families/embed/node.js';
import type { GatherRowsNode } from '../../families/gather_rows/node.js';
import type { KvAppendNode } from '../../families/kv_append/node.js';
import type { KvCopyNode } from '../../families/kv_copy/node.js';
import type { LayerNormNode } from '../../families/layer_norm/node.js';
import type { LinearNode } from '../../families/linear/node.js';
import type { LocalAttentionNode } from '../../families/local_attention/node.js';
import type { MoeCombineNode } from '../../families/moe_combine/node.js';
import type { MoeLinearNode } from '../../families/moe_linear/node.js';
import type { MoeRouteNode } from '../../families/moe_route/node.js';
import type { PoolRowsNode } from '../../families/pool_rows/node.js';
import type { RmsNormNode } from '../../families/rms_norm/node.js';
import type { RopeNode } from '../../families/rope/node.js';
import type { RopeTableNode } from '../../families/rope_table/node.js';
import type { SampleNode } from '../../families/sample/node.js';
import type { SegmentAttentionNode } from '../../families/segment_attention/node.js';

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
