import type { Axis, Ops, Value } from '@markbase/metal-runtime';
import type { ClippedLinear, EncoderLayer } from './layer.js';

/** Each half of a head is rotated by one coordinate of the picture. */
const ROPE_AXES = 2;

/**
 * One block of the encoder, [T, U] → [T, U]: every branch is normalised going in and coming out (docs/gemma4.md section
 * 3.3).
 */
export function encoderLayer(
  ops: Ops,
  layer: EncoderLayer,
  h: Value<'T', 'U'>,
  rope: Value<'T', 'K'>,
): Value<'T', 'U'> {
  const { normEps: eps, headCount: heads, kvHeadCount: kvHeads } = layer;

  // 1. Attention over all patches of the picture; keys and queries are normalised per head, then rotated
  const x = ops.rmsNorm(h, layer.inputNorm, { eps });
  const query = ops.rmsNormHeads(clippedLinear(ops, x, layer.query), layer.queryNorm, { eps, heads });
  const key = ops.rmsNormHeads(clippedLinear(ops, x, layer.key), layer.keyNorm, { eps, heads: kvHeads });
  const value = ops.rmsNormHeads(clippedLinear(ops, x, layer.value), null, { eps, heads: kvHeads });
  const attended = ops.segmentAttention(
    ops.rope(query, rope, { heads, axes: ROPE_AXES }),
    ops.rope(key, rope, { heads: kvHeads, axes: ROPE_AXES }),
    value,
    { heads, kvHeads },
  );
  const mixed = clippedLinear(ops, attended, layer.output);
  const g = ops.add(h, ops.rmsNorm(mixed, layer.postAttentionNorm, { eps }));

  // 2. Gated MLP
  const y = ops.rmsNorm(g, layer.preFeedForwardNorm, { eps });
  const gated = ops.geglu(clippedLinear(ops, y, layer.gate), clippedLinear(ops, y, layer.up));
  const fed = clippedLinear(ops, gated, layer.down);
  return ops.add(g, ops.rmsNorm(fed, layer.postFeedForwardNorm, { eps }));
}

/** y = clamp(W · clamp(x)) with the bounds of the linear; without them a plain linear. */
function clippedLinear<Out extends Axis, In extends Axis>(
  ops: Ops,
  x: Value<'T', In>,
  { weight, clip }: ClippedLinear<Out, In>,
): Value<'T', Out> {
  if (!clip) return ops.linear(x, weight);
  return ops.clamp(ops.linear(ops.clamp(x, clip.input), weight), clip.output);
}
