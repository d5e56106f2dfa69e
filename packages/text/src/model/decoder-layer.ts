import type { Ops, RowAxis, Value } from '@markbase/metal-runtime';
import { attention, attentionOfOutputs } from './attention.js';
import type { Layer } from './layer.js';
import type { RowInputs } from './row-inputs.js';

/** One Gemma 4 block, [R, D] → [R, D]. Each branch is normalised before and after (docs/gemma4.md section 2.4). */
export function decoderLayer<R extends RowAxis>(
  ops: Ops,
  layer: Layer,
  h: Value<R, 'D'>,
  inputs: RowInputs<R>,
): Value<R, 'D'> {
  const x = ops.rmsNorm(h, layer.inputNorm, { eps: layer.normEps });
  const attended = attention(ops, layer.attention, x, inputs.rope(layer.attention.ropeIndex));
  return afterAttention(ops, layer, h, attended, inputs);
}

/** The same block, continuing with the output rows only, [T, D] → [N, D]: for the last layer that fills a cache. */
export function decoderLayerOfOutputs(
  ops: Ops,
  layer: Layer,
  h: Value<'T', 'D'>,
  inputs: { all: RowInputs<'T'>; outputs: RowInputs<'N'> },
): Value<'N', 'D'> {
  const { ropeIndex } = layer.attention;
  const x = ops.rmsNorm(h, layer.inputNorm, { eps: layer.normEps });
  const ropes = { all: inputs.all.rope(ropeIndex), outputs: inputs.outputs.rope(ropeIndex) };
  const attended = attentionOfOutputs(ops, layer.attention, x, ropes);
  return afterAttention(ops, layer, ops.gatherRows(h), attended, inputs.outputs);
}

function afterAttention<R extends RowAxis>(
  ops: Ops,
  layer: Layer,
  h: Value<R, 'D'>,
  attended: Value<R, 'D'>,
  inputs: RowInputs<R>,
): Value<R, 'D'> {
  const { normEps: eps, perLayer } = layer;

  // 1. Attention
  h = ops.add(h, ops.rmsNorm(attended, layer.postAttentionNorm, { eps }));

  // 2. Feed-forward: dense, or dense plus experts. Chosen at load time.
  const fed = layer.feedForward.run(ops, h);
  h = ops.add(h, ops.rmsNorm(fed, layer.postFeedForwardNorm, { eps }));

  // 3. Per-layer embedding: this layer's slice for the token, gated by the residual stream
  if (perLayer) {
    const gated = ops.geglu(ops.linear(h, perLayer.gate), inputs.perLayer(layer.index)); // [R, P]
    h = ops.add(h, ops.rmsNorm(ops.linear(gated, perLayer.projection), perLayer.postNorm, { eps }));
  }

  // 4. The layer's scalar multiplies the whole residual stream
  return ops.scale(h, layer.scalar);
}
