import { InvalidArgumentError } from '@markbase/core';
import type { Axis, RowAxis } from '../../src/axes.js';
import type { Family } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';

/**
 * (a + b) · scale, a · scale, gelu_tanh(a) · b, scale · tanh(a / scale), min(max(a, scale), high), or a · sigmoid(b).
 */
export interface ElementwiseNode {
  readonly kind: 'elementwise';
  readonly label: string;
  readonly op: keyof typeof OP_CODES;
  readonly a: number;
  readonly b: number | null;
  /** Factor, cap, or lower bound. */
  readonly scale: number;
  /** Upper bound of clamp. */
  readonly high: number;
  readonly y: number;
}

const OP_CODES = { add: 0, scale: 1, geglu: 2, softcap: 3, clamp: 4, glu: 5 } as const;

/** What records `elementwise` nodes. */
export interface ElementwiseOps {
  /** y = a + b. */
  add<R extends RowAxis, A extends Axis>(a: Value<R, A>, b: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = x · factor. */
  scale<R extends RowAxis, A extends Axis>(x: Value<R, A>, factor: number): Value<R, A>;

  /** y = gelu_tanh(gate) · up, with gelu_tanh(x) = 0.5 x (1 + tanh(√(2/π) (x + 0.044715 x³))). */
  geglu<R extends RowAxis, A extends Axis>(gate: Value<R, A>, up: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = x · sigmoid(x). */
  silu<R extends RowAxis, A extends Axis>(x: Value<R, A>): Value<R, A>;

  /** y = x · sigmoid(gate). */
  glu<R extends RowAxis, A extends Axis>(x: Value<R, A>, gate: Value<NoInfer<R>, NoInfer<A>>): Value<R, A>;

  /** y = cap · tanh(x / cap). */
  softcap<R extends RowAxis, A extends Axis>(x: Value<R, A>, cap: number): Value<R, A>;

  /** y = min(max(x, low), high); NaN stays NaN. */
  clamp<R extends RowAxis, A extends Axis>(x: Value<R, A>, range: { low: number; high: number }): Value<R, A>;
}

/** What the recorder knows of `elementwise` nodes, and their `elementwise` command. */
export const elementwise: Family<ElementwiseNode, ElementwiseOps> = {
  reads: (node) => (node.b === null ? [node.a] : [node.a, node.b]),
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'elementwise',
    attributes: {
      op: OP_CODES[node.op],
      rowSet: rowSetCode(graph, node.a),
      width: graph.values[node.a]!.width,
      aStride: strideOf(graph, node.a),
      bStride: node.b === null ? 0 : strideOf(graph, node.b),
      yStride: strideOf(graph, node.y),
      scale: node.scale,
      high: node.high,
    },
    operands: [
      { value: node.a },
      node.b === null ? null : { value: node.b },
      { value: node.y, isOutput: true },
    ],
    weightBytes: 0,
  }),
  operations(recording) {
    const record = <R extends RowAxis, A extends Axis>(
      op: ElementwiseNode['op'],
      a: Value<R, A>,
      b: Value<R, A> | null,
      scale: number,
      high = 0,
    ): Value<R, A> => {
      if (b) {
        recording.expectWidth(op, 'second operand', b, a.width);
        recording.expectRows(op, 'second operand', b, a);
      }
      return recording.result(a.rows, a.width, op, (y, label): ElementwiseNode => {
        return { kind: 'elementwise', label, op, a: a.id, b: b?.id ?? null, scale, high, y };
      });
    };
    return {
      add: (a, b) => record('add', a, b, 1),
      scale: (x, factor) => record('scale', x, null, factor),
      geglu: (gate, up) => record('geglu', gate, up, 1),
      silu: (x) => record('glu', x, x, 1),
      glu: (x, gate) => record('glu', x, gate, 1),
      softcap(x, cap) {
        recording.expectPositive('softcap: cap', cap);
        return record('softcap', x, null, cap);
      },
      clamp(x, { low, high }) {
        if (!(low <= high)) {
          const received = `${low} to ${high}`;
          throw new InvalidArgumentError({ argument: 'clamp: range', expected: 'low <= high', received });
        }
        return record('clamp', x, null, low, high);
      },
    };
  },
};
