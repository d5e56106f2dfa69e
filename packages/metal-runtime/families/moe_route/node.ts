import { InvalidArgumentError } from '@markbase/core';
import type { RowAxis } from '../../src/axes.js';
import {
  type AnyVector,
  type EncodedCommand,
  type Family,
  scalarCode,
  vectorOperand,
} from '../../src/recorder/family.js';
import { rowSetCode, strideOf, type ValueTable } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Vector } from '../../src/weights.js';

/** The experts of every row. */
export interface Routing<R extends RowAxis> {
  /** [R, X]: the chosen experts, as floats, in descending order of their logits. */
  readonly experts: Value<R, 'X'>;
  /** [R, X]: the factor of each expert's output. */
  readonly shares: Value<R, 'X'>;
}

/** The inputs of routing: experts = top-k of logits, shares = softmax over them · perExpertScale. */
export interface MoeRouting {
  readonly logits: number;
  readonly perExpertScale: AnyVector;
  /** Multiplies the logits. */
  readonly scale: number;
  readonly topK: number;
  /** The shares to write. */
  readonly shares: number;
}

/** Chooses experts for every row. */
export interface MoeRouteNode {
  readonly kind: 'moeRoute';
  readonly label: string;
  readonly routing: MoeRouting;
  readonly experts: number;
}

/** What records `moeRoute` nodes. */
export interface MoeRouteOps {
  /**
   * Chooses `topK` experts for every row: those with the largest logits; between equal ones, the lower number first.
   * The share of a chosen expert e is softmax(scale · logits)_e, taken over the chosen ones, times perExpertScale_e.
   * That is the softmax over all experts, renormalised over the chosen ones. In float32; nothing is read back.
   */
  moeRoute<R extends RowAxis>(
    logits: Value<R, 'E'>,
    perExpertScale: Vector<'E'>,
    options: { topK: number; scale: number },
  ): Routing<R>;
}

/** What the recorder knows of `moeRoute` nodes, and their `moe_route` command. */
export const moeRoute: Family<MoeRouteNode, MoeRouteOps> = {
  reads: (node) => [node.routing.logits],
  writes: (node) => [node.experts, node.routing.shares],
  encode: ({ routing, experts }, graph): EncodedCommand => ({
    family: 'moe_route',
    attributes: {
      rowSet: rowSetCode(graph, routing.logits),
      expertsStride: strideOf(graph, experts),
      topK: routing.topK,
      ...routingAttributes(routing, graph),
    },
    operands: [
      { value: routing.logits },
      vectorOperand(routing.perExpertScale),
      { value: experts, isOutput: true },
      { value: routing.shares, isOutput: true },
    ],
    weightBytes: routing.perExpertScale.data.sizeBytes,
  }),
  operations: (recording) => ({
    moeRoute(logits, perExpertScale, { topK, scale }) {
      recording.expectWidth('moeRoute', 'logits', logits, perExpertScale.length);
      if (!Number.isInteger(topK) || topK < 1 || topK > logits.width) {
        const expected = `1 to ${logits.width} experts`;
        throw new InvalidArgumentError({ argument: 'moeRoute: topK', expected, received: topK });
      }
      const experts = recording.value<typeof logits.rows, 'X'>(logits.rows, topK);
      const shares = recording.result<typeof logits.rows, 'X'>(
        logits.rows,
        topK,
        'moe_route',
        (y, label): MoeRouteNode => {
          const routing = { logits: logits.id, perExpertScale, scale, topK, shares: y };
          return { kind: 'moeRoute', label, routing, experts: experts.id };
        },
      );
      return { experts, shares };
    },
  }),
};

/** Parameters that the plain and the fused command share. */
export function routingAttributes(routing: MoeRouting, graph: ValueTable): Record<string, number> {
  return {
    experts: routing.perExpertScale.length,
    logitsStride: strideOf(graph, routing.logits),
    sharesStride: strideOf(graph, routing.shares),
    scaleType: scalarCode(routing.perExpertScale.dtype),
    logitScale: routing.scale,
  };
}
