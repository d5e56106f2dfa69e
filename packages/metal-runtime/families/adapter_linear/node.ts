import { ShapeMismatchError } from '@markbase/core';
import type { Axis, RowAxis } from '../../src/axes.js';
import { type Family, floatsOperand } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { AdapterMatrices } from '../../src/weights.js';

/** y = base + M x, with a matrix chosen per row. */
export interface AdapterLinearNode {
  readonly kind: 'adapterLinear';
  readonly label: string;
  readonly x: number;
  readonly selected: number;
  readonly matrices: AdapterMatrices<Axis, Axis>;
  readonly base: number | null;
  readonly y: number;
}

/** What records `adapterLinear` nodes. */
export interface AdapterLinearOps {
  /**
   * [R, Out]: base + M x in float32, where M is the matrix of the row's adapter. `selected` [R, X = 1] holds 1 for the first
   * matrix; rows with 0 get the base alone. Without a base, the sum begins with zeros.
   */
  adapterLinear<R extends RowAxis, Out extends Axis, In extends Axis>(
    x: Value<R, In>,
    matrices: AdapterMatrices<Out, NoInfer<In>>,
    options: { selected: Value<R, 'X'>; base?: Value<R, Out> },
  ): Value<R, Out>;
}

/** What the recorder knows of `adapterLinear` nodes, and their `adapter_linear` command. */
export const adapterLinear: Family<AdapterLinearNode, AdapterLinearOps> = {
  reads: (node) => [node.x, node.selected, ...(node.base === null ? [] : [node.base])],
  writes: (node) => [node.y],
  encode: (node, graph) => {
    const { count, rows, columns, data } = node.matrices;
    return {
      family: 'adapter_linear',
      attributes: {
        rowSet: rowSetCode(graph, node.x),
        outWidth: rows,
        inWidth: columns,
        adapters: count,
        hasBase: node.base === null ? 0 : 1,
        xStride: strideOf(graph, node.x),
        selectedStride: strideOf(graph, node.selected),
        baseStride: node.base === null ? 0 : strideOf(graph, node.base),
        yStride: strideOf(graph, node.y),
      },
      operands: [
        { value: node.x },
        { value: node.selected },
        floatsOperand('matrices', data, count * rows * columns),
        node.base === null ? null : { value: node.base },
        { value: node.y, isOutput: true },
      ],
      weightBytes: data.sizeBytes / count,
    };
  },
  operations: (recording) => ({
    adapterLinear(x, matrices, { selected, base }) {
      const { rows, columns } = matrices;
      const expect = (argument: string, received: number, expected: number): void => {
        if (received === expected) return;
        const shape = (width: number) => `[${x.rows}, ${width}]`;
        throw new ShapeMismatchError({
          operation: 'adapterLinear',
          argument,
          expected: shape(expected),
          received: shape(received),
        });
      };
      expect('x', x.width, columns);
      expect('selected', selected.width, 1);
      if (base) expect('base', base.width, rows);
      return recording.result(x.rows, rows, 'adapter_linear', (y, label): AdapterLinearNode => {
        const operands = { x: x.id, selected: selected.id, base: base?.id ?? null };
        return { kind: 'adapterLinear', label, ...operands, matrices, y };
      });
    },
  }),
};
