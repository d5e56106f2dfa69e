import type { Axis } from '../../src/axes.js';
import {
  type AnyVector,
  type EncodedCommand,
  type EncodeOptions,
  type Family,
  matrixAttributes,
  matrixBytes,
  matrixOperands,
  type Operand,
  rowSetCode,
  scalarCode,
  vectorOperand,
} from '../../src/ops/node.js';
import { type Graph, strideOf } from '../../src/recorder/graph.js';
import type { ExpertMatrix } from '../../src/weights.js';
import { type MoeRouting, routingAttributes } from '../moe_route/node.js';

/** Expert matrices whose axes no longer matter. */
export type AnyExpertMatrix = ExpertMatrix<Axis, Axis>;

/** What happens to the products before they are stored. */
export type MoeLinearEpilogue =
  | { readonly kind: 'store' }
  | { readonly kind: 'geglu'; readonly y: number }
  | { readonly kind: 'combine'; readonly shares: number; readonly y: number };

/** y_x = x W_eᵀ for every chosen expert e of a row, with what was fused before and after. */
export interface MoeLinearNode {
  readonly kind: 'moeLinear';
  readonly label: string;
  readonly x: number;
  /** `x` holds a slice per chosen expert, instead of one row for all of them. */
  readonly hasSlices: boolean;
  readonly norm: { readonly gain: AnyVector; readonly eps: number } | null;
  /** The command chooses the experts itself, and stores its choice for the others that read it. */
  readonly routing: MoeRouting | null;
  readonly experts: number;
  /** `y` is not stored when the epilogue has an output of its own. Two weights only with geglu. */
  readonly weights: readonly { readonly matrix: AnyExpertMatrix; readonly y: number }[];
  readonly epilogue: MoeLinearEpilogue;
}

const EPILOGUE_CODES = { store: 0, geglu: 1, combine: 2 } as const;

/** Products with the matrices of the chosen experts: how a moe_linear command is made. */
export const moeLinear: Family<MoeLinearNode> = {
  reads: (node) => [
    node.x,
    node.routing ? node.routing.logits : node.experts,
    ...(node.epilogue.kind === 'combine' ? [node.epilogue.shares] : []),
  ],
  writes: (node) => [...(node.routing ? [node.experts, node.routing.shares] : []), outputOf(node)],
  encode: encodeMoeLinear,
};

/** The value that holds the products, after the epilogue. */
function outputOf(node: MoeLinearNode): number {
  return node.epilogue.kind === 'store' ? node.weights[0]!.y : node.epilogue.y;
}

function encodeMoeLinear(node: MoeLinearNode, graph: Graph, options: EncodeOptions): EncodedCommand {
  const { norm, routing, epilogue } = node;
  const { rows, columns, expertCount } = node.weights[0]!.matrix;
  const topK = graph.values[node.experts]!.width;
  const shares = epilogue.kind === 'combine' ? epilogue.shares : (routing?.shares ?? null);
  const attributes: Record<string, number> = {
    rowSet: rowSetCode(graph, node.x),
    in: columns,
    out: rows,
    topK,
    weights: node.weights.length,
    isFast: options.isFast ? 1 : 0,
    hasFewRows: options.hasFewRows ? 1 : 0,
    xStride: strideOf(graph, node.x),
    hasSlices: node.hasSlices ? 1 : 0,
    expertsStride: strideOf(graph, node.experts),
    hasNorm: norm ? 1 : 0,
    normGainType: norm ? scalarCode(norm.gain.dtype) : 0,
    eps: norm?.eps ?? 0,
    hasRouting: routing ? 1 : 0,
    experts: expertCount,
    logitsStride: 0,
    sharesStride: shares === null ? 0 : strideOf(graph, shares),
    scaleType: 0,
    logitScale: 1,
    epilogue: EPILOGUE_CODES[epilogue.kind],
    yStride: strideOf(graph, outputOf(node)),
    ...(routing && routingAttributes(routing, graph)),
  };
  const operands: Operand[] = [
    { value: node.x },
    norm ? vectorOperand(norm.gain) : null,
    routing ? { value: routing.logits } : null,
    routing ? vectorOperand(routing.perExpertScale) : null,
    { value: node.experts, isOutput: routing !== null },
    shares === null ? null : { value: shares, isOutput: routing !== null },
  ];
  for (const [index, { matrix }] of node.weights.entries()) {
    const stored = matrixAttributes(matrix.stored);
    attributes[`weight${index}.rowsPerExpert`] = matrix.rowsPerExpert;
    attributes[`weight${index}.firstRow`] = matrix.firstRow;
    attributes[`weight${index}.format`] = stored.format;
    attributes[`weight${index}.bits`] = stored.bits;
    attributes[`weight${index}.group`] = stored.group;
    attributes[`weight${index}.scaleType`] = stored.scaleType;
    operands.push(...matrixOperands(matrix.stored));
  }
  operands.push({ value: outputOf(node), isOutput: true });
  return {
    family: 'moe_linear',
    attributes,
    operands,
    // One row reads the weights of the experts that it chose.
    weightBytes: node.weights.reduce((sum, { matrix }) => sum + bytesOfExperts(matrix, topK), 0),
  };
}

function bytesOfExperts(
  { stored, rows, rowsPerExpert, expertCount }: AnyExpertMatrix,
  count: number,
): number {
  return (matrixBytes(stored) / expertCount) * (rows / rowsPerExpert) * count;
}
