import { InvalidArgumentError, ShapeMismatchError } from '@markbase/core';
import { type AnyVector, type Family, floatsOperand, vectorOperand } from '../../src/recorder/family.js';
import { strideOf } from '../../src/recorder/values.js';
import type { Value } from '../../src/value.js';
import type { RelativeKeys, Vector } from '../../src/weights.js';

/** Maximum number of keys that a query sees; their scores stay in registers. */
const MAX_LOCAL_REACH = 64;

/**
 * out_t = softmax_d(cap · tanh(s_d / cap)) v_{t-d}, s_d = (queryScale ⊙ q_t) · (keyScale · k_{t-d} + relativeKeys_d).
 */
export interface LocalAttentionNode {
  readonly kind: 'localAttention';
  readonly label: string;
  readonly q: number;
  readonly k: number;
  readonly v: number;
  readonly heads: number;
  readonly reach: number;
  readonly cap: number;
  readonly keyScale: number;
  readonly queryScale: AnyVector;
  readonly relativeKeys: RelativeKeys;
  readonly y: number;
}

/** What records `localAttention` nodes. */
export interface LocalAttentionOps {
  /**
   * `[T, HK]`: softmax_d(cap · tanh(s_d / cap)) v_{t-d} per head, over the distances d < `reach` that do not reach
   * before position 0, with s_d = (queryScale ⊙ q_t) · (keyScale · k_{t-d} + relativeKeys_d).
   */
  localAttention(
    q: Value<'T', 'HK'>,
    k: Value<'T', 'HK'>,
    v: Value<'T', 'HK'>,
    options: {
      heads: number;
      /** Number of keys that a query sees, including its own. */
      reach: number;
      cap: number;
      keyScale: number;
      /** Float32. */
      queryScale: Vector<'K'>;
      relativeKeys: RelativeKeys;
    },
  ): Value<'T', 'HK'>;
}

/** What the recorder knows of `localAttention` nodes, and their `local_attention` command. */
export const localAttention: Family<LocalAttentionNode, LocalAttentionOps> = {
  needs: ['positions'],
  reads: (node) => [node.q, node.k, node.v],
  writes: (node) => [node.y],
  encode: (node, graph) => {
    const { relativeKeys } = node;
    return {
      family: 'local_attention',
      attributes: {
        heads: node.heads,
        width: relativeKeys.width / node.heads,
        reach: node.reach,
        qStride: strideOf(graph, node.q),
        kStride: strideOf(graph, node.k),
        vStride: strideOf(graph, node.v),
        outStride: strideOf(graph, node.y),
        keyScale: node.keyScale,
        cap: node.cap,
      },
      operands: [
        { value: node.q },
        { value: node.k },
        { value: node.v },
        vectorOperand(node.queryScale),
        floatsOperand('relativeKeys', relativeKeys.data, relativeKeys.distances * relativeKeys.width),
        { value: node.y, isOutput: true },
      ],
      weightBytes: relativeKeys.data.sizeBytes + node.queryScale.data.sizeBytes,
    };
  },
  operations: (recording) => ({
    localAttention(q, k, v, options) {
      const { heads, reach, queryScale, relativeKeys } = options;
      const operation = 'localAttention';
      for (const [argument, value] of Object.entries({ q, k, v })) {
        recording.expectWidth(operation, argument, value, relativeKeys.width);
      }
      expectFloats('queryScale', queryScale, recording.headWidth(operation, q, heads));
      const most = Math.min(relativeKeys.distances, MAX_LOCAL_REACH);
      if (!Number.isInteger(reach) || reach < 1 || reach > most) {
        const expected = `1 to ${most} keys`;
        throw new InvalidArgumentError({ argument: `${operation}: reach`, expected, received: reach });
      }
      recording.expectPositive(`${operation}: cap`, options.cap);
      return recording.result('T', q.width, 'local_attention', (y, label): LocalAttentionNode => {
        return { ...options, kind: operation, label, q: q.id, k: k.id, v: v.id, y };
      });
    },
  }),
};

function expectFloats(argument: string, { dtype, length }: AnyVector, expected: number): void {
  if (dtype === 'F32' && length === expected) return;
  throw new ShapeMismatchError({
    operation: 'localAttention',
    argument,
    expected: `F32 [${expected}]`,
    received: `${dtype} [${length}]`,
  });
}
