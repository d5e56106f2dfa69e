import { ShapeMismatchError } from '@markbase/core';
import type { Axis, RowAxis } from '../../src/axes.js';
import {
  type AnyMatrix,
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
import type { Matrix } from '../../src/weights.js';

/** Maximum number of weights that one command multiplies with the same rows. */
export const MAX_LINEAR_WEIGHTS = 3;

/** h = (residual + rms_norm(x) · gain) · scale, computed by the command that consumes h first. */
export interface ResidualPrologue {
  readonly residual: number;
  readonly gain: AnyVector;
  readonly eps: number;
  readonly scale: number;
  readonly h: number;
}

/** What happens to the products before they are stored. */
export type LinearEpilogue =
  | { readonly kind: 'store' }
  | { readonly kind: 'geglu'; readonly y: number }
  | { readonly kind: 'gegluMul'; readonly operand: number; readonly y: number }
  | { readonly kind: 'softcap'; readonly cap: number; readonly y: number };

/** Bounds for the rows of a weight and for its product before the epilogue; infinite = none. */
export interface LinearClip {
  readonly inputLow: number;
  readonly inputHigh: number;
  readonly outputLow: number;
  readonly outputHigh: number;
}

/** The clip of a weight that clamps nothing. */
export const NO_CLIP: LinearClip = {
  inputLow: Number.NEGATIVE_INFINITY,
  inputHigh: Number.POSITIVE_INFINITY,
  outputLow: Number.NEGATIVE_INFINITY,
  outputHigh: Number.POSITIVE_INFINITY,
};

/** y_i = x W_iᵀ for up to three weights, with a fused prologue and epilogue. */
export interface LinearNode {
  readonly kind: 'linear';
  readonly label: string;
  readonly x: number;
  readonly residual: ResidualPrologue | null;
  readonly norm: { readonly gain: AnyVector; readonly eps: number } | null;
  /** `y` is not stored if the epilogue has its own output. */
  readonly weights: readonly { readonly matrix: AnyMatrix; readonly y: number; readonly clip?: LinearClip }[];
  readonly epilogue: LinearEpilogue;
  /** If x and residual are read at the step's output rows: the value that they would have been gathered into; null = all rows. */
  readonly gathered: number | null;
  /** Activations stay float32 even in a `fast` program. */
  readonly isHigh: boolean;
}

const EPILOGUE_CODES = { store: 0, geglu: 1, gegluMul: 2, softcap: 3 } as const;

/** What records `linear` nodes. */
export interface LinearOps {
  /**
   * `[R, Out]`: y = x · Wᵀ. With precision 'high', the activations stay float32 even in a `fast` program: for products that decide
   * something, such as which experts run.
   */
  linear<R extends RowAxis, Out extends Axis, In extends Axis>(
    x: Value<R, In>,
    weight: Matrix<Out, NoInfer<In>>,
    options?: { precision: 'high' },
  ): Value<R, Out>;
}

/** What the recorder knows of `linear` nodes, and their `linear` command. */
export const linear: Family<LinearNode, LinearOps> = {
  reads: (node) => [
    node.x,
    ...(node.residual ? [node.residual.residual] : []),
    ...(node.epilogue.kind === 'gegluMul' ? [node.epilogue.operand] : []),
  ],
  writes: (node) => [...(node.residual ? [node.residual.h] : []), ...outputsOf(node)],
  encode: encodeLinear,
  operations: (recording) => ({
    linear(x, weight, options) {
      if (weight.columns !== x.width) {
        throw new ShapeMismatchError({
          operation: 'linear',
          argument: 'weight',
          expected: `[*, ${x.width}]`,
          received: `[${weight.rows}, ${weight.columns}]`,
        });
      }
      return recording.result(x.rows, weight.rows, 'linear', (y, label): LinearNode => {
        return {
          kind: 'linear',
          label,
          x: x.id,
          residual: null,
          norm: null,
          gathered: null,
          weights: [{ matrix: weight, y }],
          epilogue: { kind: 'store' },
          isHigh: options?.precision === 'high',
        };
      });
    },
  }),
};

/** Values that hold the products, after the epilogue. */
function outputsOf(node: LinearNode): number[] {
  return node.epilogue.kind === 'store' ? node.weights.map((weight) => weight.y) : [node.epilogue.y];
}

function encodeLinear(node: LinearNode, graph: ValueTable, options: EncodeOptions): EncodedCommand {
  const { residual, norm, epilogue } = node;
  const outputs = outputsOf(node);
  const attributes: Record<string, number> = {
    rowSet: rowSetCode(graph, node.gathered ?? node.x),
    gathers: node.gathered === null ? 0 : 1,
    in: graph.values[node.x]!.width,
    weights: node.weights.length,
    isFast: options.isFast && !node.isHigh ? 1 : 0,
    hasFewRows: options.hasFewRows ? 1 : 0,
    xStride: strideOf(graph, node.x),
    hasResidual: residual ? 1 : 0,
    residualStride: residual ? strideOf(graph, residual.residual) : 0,
    hStride: residual ? strideOf(graph, residual.h) : 0,
    residualGainType: residual ? scalarCode(residual.gain.dtype) : 0,
    hasNorm: norm ? 1 : 0,
    normGainType: norm ? scalarCode(norm.gain.dtype) : 0,
    epilogue: EPILOGUE_CODES[epilogue.kind],
    operandStride: epilogue.kind === 'gegluMul' ? strideOf(graph, epilogue.operand) : 0,
    eps: residual?.eps ?? norm?.eps ?? 0,
    residualScale: residual?.scale ?? 1,
    cap: epilogue.kind === 'softcap' ? epilogue.cap : 0,
  };
  const operands: Operand[] = [
    { value: node.x },
    residual ? { value: residual.residual } : null,
    residual ? vectorOperand(residual.gain) : null,
    residual ? { value: residual.h, isOutput: true } : null,
    norm ? vectorOperand(norm.gain) : null,
    epilogue.kind === 'gegluMul' ? { value: epilogue.operand } : null,
  ];
  for (const [index, { matrix, clip }] of node.weights.entries()) {
    const stored = matrixAttributes(matrix);
    const output = outputs[index] ?? outputs[0]!;
    attributes[`weight${index}.out`] = matrix.rows;
    attributes[`weight${index}.format`] = stored.format;
    attributes[`weight${index}.bits`] = stored.bits;
    attributes[`weight${index}.group`] = stored.group;
    attributes[`weight${index}.scaleType`] = stored.scaleType;
    attributes[`weight${index}.yStride`] = strideOf(graph, output);
    attributes[`weight${index}.hasClip`] = clip ? 1 : 0;
    for (const [name, bound] of Object.entries(clip ?? NO_CLIP)) attributes[`weight${index}.${name}`] = bound;
    operands.push(...matrixOperands(matrix));
  }
  operands.push(...outputs.map((value) => ({ value, isOutput: true })));
  return {
    family: 'linear',
    attributes,
    operands,
    weightBytes: node.weights.reduce((sum, { matrix }) => sum + matrixBytes(matrix), 0),
  };
}
