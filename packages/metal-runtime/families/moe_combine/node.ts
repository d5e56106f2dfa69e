import type { RowAxis } from '../../src/axes.js';
import type { Family } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Routing } from '../moe_route/node.js';

/** y = Σ_x share_x · x_x, [R, X·A] → [R, A]. */
export interface MoeCombineNode {
  readonly kind: 'moeCombine';
  readonly label: string;
  readonly x: number;
  readonly shares: number;
  readonly y: number;
}

/** What records `moeCombine` nodes. */
export interface MoeCombineOps {
  /** `[R, D]`: y = Σ_x share_x · y_x over the chosen experts. */
  moeCombine<R extends RowAxis>(y: Value<R, 'XD'>, routing: Routing<NoInfer<R>>): Value<R, 'D'>;
}

/** What the recorder knows of `moeCombine` nodes, and their `moe_combine` command. */
export const moeCombine: Family<MoeCombineNode, MoeCombineOps> = {
  reads: (node) => [node.x, node.shares],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'moe_combine',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      topK: graph.values[node.shares]!.width,
      width: graph.values[node.y]!.width,
      xStride: strideOf(graph, node.x),
      sharesStride: strideOf(graph, node.shares),
      yStride: strideOf(graph, node.y),
    },
    operands: [{ value: node.x }, { value: node.shares }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    moeCombine(x, { shares }) {
      recording.expectRows('moeCombine', 'routing', shares, x);
      const width = recording.headWidth('moeCombine', x, shares.width);
      return recording.result(x.rows, width, 'moe_combine', (y, label): MoeCombineNode => {
        return { kind: 'moeCombine', label, x: x.id, shares: shares.id, y };
      });
    },
  }),
};
