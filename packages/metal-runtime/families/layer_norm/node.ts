import type { Axis, RowAxis } from '../../src/axes.js';
import { type AnyVector, type Family, scalarCode, vectorOperand } from '../../src/recorder/family.js';
import { rowSetCode, strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { Vector } from '../../src/weights.js';

/** y = (x - mean) · (variance + eps)^(-1/2) · gain + bias. */
export interface LayerNormNode {
  readonly kind: 'layerNorm';
  readonly label: string;
  readonly x: number;
  readonly gain: AnyVector | null;
  readonly bias: AnyVector | null;
  /** Number of vectors in a row, which are normalised separately. */
  readonly groups: number;
  readonly eps: number;
  readonly y: number;
}

/** What records `layerNorm` nodes. */
export interface LayerNormOps {
  /**
   * y = (x - mean(x)) · (variance(x) + eps)^(-1/2) · gain + bias for each of the `groups` vectors of a row, in float32;
   * a null gain or bias means none.
   */
  layerNorm<R extends RowAxis, A extends Axis, W extends Axis>(
    x: Value<R, A>,
    gain: Vector<W> | null,
    options: { eps: number; groups?: number; bias?: Vector<NoInfer<W>> | null },
  ): Value<R, A>;
}

/** What the recorder knows of `layerNorm` nodes, and their `layer_norm` command. */
export const layerNorm: Family<LayerNormNode, LayerNormOps> = {
  reads: (node) => [node.x],
  writes: (node) => [node.y],
  encode: (node, graph) => ({
    family: 'layer_norm',
    attributes: {
      rowSet: rowSetCode(graph, node.x),
      groups: node.groups,
      width: graph.values[node.x]!.width / node.groups,
      xStride: strideOf(graph, node.x),
      yStride: strideOf(graph, node.y),
      hasGain: node.gain ? 1 : 0,
      gainType: node.gain ? scalarCode(node.gain.dtype) : 0,
      hasBias: node.bias ? 1 : 0,
      biasType: node.bias ? scalarCode(node.bias.dtype) : 0,
      eps: node.eps,
    },
    operands: [
      { value: node.x },
      node.gain && vectorOperand(node.gain),
      node.bias && vectorOperand(node.bias),
      { value: node.y, isOutput: true },
    ],
    weightBytes: (node.gain?.data.sizeBytes ?? 0) + (node.bias?.data.sizeBytes ?? 0),
  }),
  operations: (recording) => ({
    layerNorm(x, gain, { eps, groups = 1, bias = null }) {
      const width = recording.headWidth('layerNorm', x, groups);
      for (const [argument, vector] of Object.entries({ gain, bias })) {
        if (vector) recording.expectLength('layerNorm', argument, vector, width);
      }
      return recording.result(x.rows, x.width, 'layer_norm', (y, label): LayerNormNode => {
        return { kind: 'layerNorm', label, x: x.id, gain, bias, groups, eps, y };
      });
    },
  }),
};
