import { InvalidArgumentError } from '@markbase/core';
import type { RowAxis } from '../../src/axes.js';
import type { Family } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/** Rotates the pairs (i, i + K/2) of every head of x, or of each of its `axes` parts, by the row's angles. */
export interface RopeNode {
  readonly kind: 'rope';
  readonly label: string;
  readonly x: number;
  readonly table: number;
  readonly heads: number;
  /** 1, or the number of parts of a head, each rotated by its own coordinate. */
  readonly axes: number;
  readonly y: number;
}

/** What records `rope` nodes. */
export interface RopeOps {
  /**
   * Rotates the pairs (i, i + K/2) of every head. With `axes`, a head consists of that many equal parts, each rotated
   * like a head by its own part of the table: one coordinate of an image each (spec 3.3).
   */
  rope<R extends RowAxis, A extends 'HK' | 'GK'>(
    x: Value<R, A>,
    table: Value<NoInfer<R>, 'K'>,
    options: { heads: number; axes?: number },
  ): Value<R, A>;
}

/** What the recorder knows of `rope` nodes, and their `rope` command. */
export const rope: Family<RopeNode, RopeOps> = {
  reads: (node) => [node.x, node.table],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'rope',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      heads: node.heads,
      width: graph.values[node.x]!.width / node.heads,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      axes: node.axes,
    },
    operands: [{ value: node.x }, { value: node.table }, { value: node.y, isOutput: true }],
    weightBytes: 0,
  }),
  operations: (recording) => ({
    rope(x, table, { heads, axes = 1 }) {
      const width = recording.headWidth('rope', x, heads);
      recording.expectWidth('rope', 'table', table, width);
      if (!Number.isInteger(axes) || axes < 1 || width % (2 * axes) !== 0) {
        const expected = `parts of an even width of a head of ${width}`;
        throw new InvalidArgumentError({ argument: 'rope: axes', expected, received: axes });
      }
      recording.expectRows('rope', 'table', table, x);
      return recording.result(x.rows, x.width, 'rope', (y, label): RopeNode => {
        return { kind: 'rope', label, x: x.id, table: table.id, heads, axes, y };
      });
    },
  }),
};
