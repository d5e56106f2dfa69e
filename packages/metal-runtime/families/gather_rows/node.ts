import type { Axis } from '../../src/axes.js';
import type { Family } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/** y[n] = x[outputRow[n]], [T, A] → [N, A]. */
export interface GatherRowsNode {
  readonly kind: 'gatherRows';
  readonly label: string;
  readonly x: number;
  readonly y: number;
}

/** What records `gatherRows` nodes. */
export interface GatherRowsOps {
  /** `[N, A]`: the output rows of x; the rest is dropped. */
  gatherRows<A extends Axis>(x: Value<'T', A>): Value<'N', A>;
}

/** What the recorder knows of `gatherRows` nodes, and their `gather_rows` command. */
export const gatherRows: Family<GatherRowsNode, GatherRowsOps> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'gather_rows',
    attributes: {
      width: graph.values[node.x]!.width,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
    },
    operands: [{ value: node.x }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    gatherRows: (x) =>
      recording.result('N', x.width, 'gather_rows', (y, label): GatherRowsNode => {
        return { kind: 'gatherRows', label, x: x.id, y };
      }),
  }),
};
