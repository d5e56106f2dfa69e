import type { RowAxis } from '../../src/axes.js';
import {
  type AnyVector,
  type EncodedCommand,
  type Family,
  rowSetCode,
  scalarCode,
  vectorOperand,
} from '../../src/ops/node.js';
import type { Value } from '../../src/ops/value.js';
import { type Graph, strideOf } from '../../src/recorder/graph.js';

/** Which experts every row goes to. */
export interface Routing<R extends RowAxis> {
  /** [R, X]: numbers of the chosen experts, as floats, by falling logit. */
  readonly experts: Value<R, 'X'>;
  /** [R, X]: what the output of each is multiplied with. */
  readonly shares: Value<R, 'X'>;
}

/** What routing reads: experts = top-k of logits, shares = softmax over them · perExpertScale. */
export interface MoeRouting {
  readonly logits: number;
  readonly perExpertScale: AnyVector;
  /** Multiplies the logits. */
  readonly scale: number;
  readonly topK: number;
  /** Shares that are written. */
  readonly shares: number;
}

/** Chooses experts for every row. */
export interface MoeRouteNode {
  readonly kind: 'moeRoute';
  readonly label: string;
  readonly routing: MoeRouting;
  readonly experts: number;
}

/** Top-k of logits with shares: how a moe_route command is made. */
export const moeRoute: Family<MoeRouteNode> = {
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
};

/** Numbers of a routing that the plain and the fused command share. */
export function routingAttributes(routing: MoeRouting, graph: Graph): Record<string, number> {
  return {
    experts: routing.perExpertScale.length,
    logitsStride: strideOf(graph, routing.logits),
    sharesStride: strideOf(graph, routing.shares),
    scaleType: scalarCode(routing.perExpertScale.dtype),
    logitScale: routing.scale,
  };
}
