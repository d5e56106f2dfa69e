import { InvalidArgumentError } from '@markbase/core';
import type { Axis } from '../../src/axes.js';
import type { Family } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/** y[n] = scale · Σ x[outputRow[n] + i] over i < count, [T, A] → [N, A]. */
export interface PoolRowsNode {
  readonly kind: 'poolRows';
  readonly label: string;
  readonly x: number;
  readonly count: number;
  readonly scale: number;
  readonly y: number;
}

/** What records `poolRows` nodes. */
export interface PoolRowsOps {
  /** `[N, A]`: y_n = scale · Σ x_t over the `count` rows from output row n on, in float32. */
  poolRows<A extends Axis>(x: Value<'T', A>, options: { count: number; scale: number }): Value<'N', A>;
}

/** What the recorder knows of `poolRows` nodes, and their `pool_rows` command. */
export const poolRows: Family<PoolRowsNode, PoolRowsOps> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'pool_rows',
    attributes: {
      width: graph.values[node.x]!.width,
      count: node.count,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      scale: node.scale,
    },
    operands: [{ value: node.x }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    poolRows(x, { count, scale }) {
      if (!Number.isInteger(count) || count < 1) {
        const expected = 'a whole number of rows, from 1';
        throw new InvalidArgumentError({ argument: 'poolRows: count', expected, received: count });
      }
      return recording.result('N', x.width, 'pool_rows', (y, label): PoolRowsNode => {
        return { kind: 'poolRows', label, x: x.id, count, scale, y };
      });
    },
  }),
};
