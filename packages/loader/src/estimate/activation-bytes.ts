import type { TextConfig } from '../config/text-config.js';

/**
 * Bytes of the buffers of one prefill step, with buffers reused as soon as their value is dead.
 *
 * Beside the stream and its branch (3 D) a step holds either the queries and the result of attention with new keys and
 * values (2 H K + 2 G K), or the gated MLP (2 F), whichever is wider; the per-layer inputs (L P) live through the step.
 * Logits are float32, one row per sequence.
 */
export function activationBytes(
  text: TextConfig,
  step: { readonly maxStepTokens: number; readonly sequences: number; readonly elementBytes: number },
): number {
  const widest = Math.max(
    ...text.layers.map(({ headDim, kvHeadCount, intermediateSize }) =>
      Math.max(2 * text.headCount * headDim + 2 * kvHeadCount * headDim, 2 * intermediateSize),
    ),
  );
  const experts = text.experts;
  const routed = experts === null ? 0 : experts.topK * (2 * experts.intermediateSize + text.hiddenSize);
  const perLayer = 2 * text.layerCount * text.perLayerInputSize;
  const rowElements = 3 * text.hiddenSize + Math.max(widest, routed) + perLayer;
  const logits = 4 * text.vocabSize * step.sequences;
  return step.maxStepTokens * rowElements * step.elementBytes + logits;
}
