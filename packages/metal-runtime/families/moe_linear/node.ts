import { ShapeMismatchError } from '@markbase/core';
import type { Axis, RowAxis } from '../../src/axes.js';
import {
  type AnyVector,
  type EncodedCommand,
  type EncodeOptions,
  type Family,
  matrixAttributes,
  matrixBytes,
  matrixOperands,
  type Operand,
  scalarCode,
  vectorOperand,
} from '../../src/recorder/family.js';
import { rowSetCode, strideOf, type ValueTable } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { ExpertMatrix } from '../../src/weights.js';
import { type MoeRouting, type Routing, routingAttributes } from '../moe_route/node.js';

/** Expert matrices whose axes no longer matter. */
export type AnyExpertMatrix = ExpertMatrix<Axis, Axis>;

/** Applied to the products before they are stored. */
export type MoeLinearEpilogue =
  | { readonly kind: 'store' }
  | { readonly kind: 'geglu'; readonly y: number }
  | { readonly kind: 'combine'; readonly shares: number; readonly y: number };

/** y_x = x W_eᵀ for every chosen expert e of a row, with fused operations before and after. */
export interface MoeLinearNode {
  readonly kind: 'moeLinear';
  readonly label: string;
  readonly x: number;
  /** `x` holds a slice per chosen expert, instead of one row for all of them. */
  readonly hasSlices: boolean;
  readonly norm: { readonly gain: AnyVector; readonly eps: number } | null;
  /** The command chooses the experts itself, and stores the choice for its other readers. */
  readonly routing: MoeRouting | null;
  readonly experts: number;
  /** `y` is not stored if the epilogue has its own output. Two weights only with geglu. */
  readonly weights: readonly { readonly matrix: AnyExpertMatrix; readonly y: number }[];
  readonly epilogue: MoeLinearEpilogue;
}

const EPILOGUE_CODES = { store: 0, geglu: 1, combine: 2 } as const;

/** What records `moeLinear` nodes. */
export interface MoeLinearOps {
  /**
   * `[R, X·Out]`: y_x = x_x · W_eᵀ for each chosen expert e of a row. `x` is [R, In], the same for all chosen experts,
   * or [R, X·In], a slice for each. A step reads the weights of each expert that some row chose once, and no others.
   */
  moeLinear<R extends RowAxis, Out extends 'F' | 'D', In extends 'F' | 'D'>(
    x: Value<R, In | `X${In}`>,
    weight: ExpertMatrix<Out, In>,
    routing: Routing<NoInfer<R>>,
  ): Value<R, `X${Out}`>;
}

/** What the recorder knows of `moeLinear` nodes, and their `moe_linear` command. */
export const moeLinear: Family<MoeLinearNode, MoeLinearOps> = {
  reads: (node) => [
    node.x,
    node.routing ? node.routing.logits : node.experts,
    ...(node.epilogue.kind === 'combine' ? [node.epilogue.shares] : []),
  ],
  writes: (node) => [...(node.routing ? [node.experts, node.routing.shares] : []), outputOf(node)],
  encode: encodeMoeLinear,
  operations: (recording) => ({
    moeLinear(x, weight, { experts }) {
      checkExpertMatrix(weight);
      const hasSlices = x.width !== weight.columns;
      if (hasSlices) recording.expectWidth('moeLinear', 'x', x, experts.width * weight.columns);
      recording.expectRows('moeLinear', 'routing', experts, x);
      return recording.result(
        x.rows,
        experts.width * weight.rows,
        'moe_linear',
        (y, label): MoeLinearNode => {
          return {
            kind: 'moeLinear',
            label,
            x: x.id,
            hasSlices,
            norm: null,
            routing: null,
            experts: experts.id,
            weights: [{ matrix: weight, y }],
            epilogue: { kind: 'store' },
          };
        },
      );
    },
  }),
};

/** The value with the products, after the epilogue. */
function outputOf(node: MoeLinearNode): number {
  return node.epilogue.kind === 'store' ? node.weights[0]!.y : node.epilogue.y;
}

function encodeMoeLinear(node: MoeLinearNode, graph: ValueTable, options: EncodeOptions): EncodedCommand {
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
    // One row reads the weights of its chosen experts.
    weightBytes: node.weights.reduce((sum, { matrix }) => sum + bytesOfExperts(matrix, topK), 0),
  };
}

function bytesOfExperts(
  { stored, rows, rowsPerExpert, expertCount }: AnyExpertMatrix,
  count: number,
): number {
  return (matrixBytes(stored) / expertCount) * (rows / rowsPerExpert) * count;
}

/** The rows of every expert must lie inside its part of the stored matrix. */
function checkExpertMatrix({
  expertCount,
  rows,
  columns,
  rowsPerExpert,
  firstRow,
  stored,
}: AnyExpertMatrix): void {
  const fits = rows >= 1 && firstRow >= 0 && firstRow + rows <= rowsPerExpert;
  if (fits && stored.rows === expertCount * rowsPerExpert && stored.columns === columns) return;
  throw new ShapeMismatchError({
    operation: 'moeLinear',
    argument: 'weight',
    expected: `rows [${firstRow}, ${firstRow + rows}) of ${expertCount} experts in [${expertCount} * ${rowsPerExpert}, ${columns}]`,
    received: `[${stored.rows}, ${stored.columns}]`,
  });
}
