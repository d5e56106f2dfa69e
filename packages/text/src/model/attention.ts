import type { Ops, RowAxis, Value } from '@markbase/metal-runtime';
import type { AttentionWeights, KeyValueWeights } from './layer.js';

/**
 * Self-attention of one layer, `[R, D]` → `[R, D]`: q = rope(norm(x Wq)), k = rope(norm(x Wk)), v = norm(x Wv),
 * softmax(q kᵀ) v Wo with scale 1 (docs/gemma4.md section 2.5). A layer that shares a cache computes no k and v.
 *
 * @param x normalised input of the layer
 * @param rope cosines and sines for the layer's kind
 */
export function attention<R extends RowAxis>(
  ops: Ops,
  weights: AttentionWeights,
  x: Value<R, 'D'>,
  rope: Value<R, 'K'>,
): Value<R, 'D'> {
  const query = ops.linear(x, weights.query);
  if (weights.keyValue) appendKeyValue(ops, weights, weights.keyValue, x, rope);
  return attend(ops, weights, query, rope);
}

/**
 * Self-attention of the output rows only, `[T, D]` → `[N, D]`: the keys and values of all rows are cached, but only the
 * output rows attend. For the last layer with a cache, because nothing after it needs the other rows.
 */
export function attentionOfOutputs(
  ops: Ops,
  weights: AttentionWeights,
  x: Value<'T', 'D'>,
  ropes: { all: Value<'T', 'K'>; outputs: Value<'N', 'K'> },
): Value<'N', 'D'> {
  const query = ops.linear(ops.gatherRows(x), weights.query);
  if (weights.keyValue) appendKeyValue(ops, weights, weights.keyValue, x, ropes.all);
  return attend(ops, weights, query, ropes.outputs);
}

/** Appends the keys and values of the rows `x` [R, D] to the layer's cache. */
export function appendKeyValue<R extends RowAxis>(
  ops: Ops,
  { cache, normEps: eps }: AttentionWeights,
  weights: KeyValueWeights,
  x: Value<R, 'D'>,
  rope: Value<R, 'K'>,
): void {
  const heads = cache.kvHeadCount;
  const rawKey = ops.linear(x, weights.key);
  // k_eq_v: the value is the key before its norm and before rope.
  const rawValue = weights.value ? ops.linear(x, weights.value) : rawKey;
  const key = ops.rope(ops.rmsNormHeads(rawKey, weights.keyNorm, { eps, heads }), rope, { heads });
  const value = ops.rmsNormHeads(rawValue, null, { eps, heads });
  ops.appendKv(cache, key, value);
}

function attend<R extends RowAxis>(
  ops: Ops,
  { cache, headCount: heads, queryNorm, output, normEps: eps }: AttentionWeights,
  rawQuery: Value<R, 'HK'>,
  rope: Value<R, 'K'>,
): Value<R, 'D'> {
  const query = ops.rope(ops.rmsNormHeads(rawQuery, queryNorm, { eps, heads }), rope, { heads });
  return ops.linear(ops.attention(query, cache, { heads }), output);
}
