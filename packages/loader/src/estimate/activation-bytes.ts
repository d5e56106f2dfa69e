import type { TextConfig } from '../config/text-config.js';

/** Buffers hold float32 on CPUs in both precisions; GPUs need less. */
const ELEMENT_BYTES = 4;

/**
 * Bytes of the buffers of a prefill step and of a decode step, with buffers reused as soon as their value is dead.
 *
 * Besides the stream and half of its branch (1.5 D), a row holds either the queries and the result of attention with new
 * keys and values (2 H K + 2 G K), or the gated MLP (2 F), or the experts that run, whichever is wider; the per-layer
 * inputs (L P) live through the step. Both steps have one row of V logits per sequence. An image whose tokens see each
 * other needs a larger step, which is allocated for the first such image.
 *
 * @param rows rows of a prefill step
 */
export function activationBytes(text: TextConfig, rows: number, sequences: number): number {
  const widest = text.layers.reduce((width, { headDim, kvHeadCount, intermediateSize }) => {
    const attention = 2 * (text.headCount + kvHeadCount) * headDim;
    return Math.max(width, attention, 2 * intermediateSize);
  }, 0);
  const { experts } = text;
  const routed = experts === null ? 0 : experts.topK * (2 * experts.intermediateSize + text.hiddenSize);
  const perLayer = text.layerCount * text.perLayerInputSize;
  const rowElements = 1.5 * text.hiddenSize + Math.max(widest, routed) + perLayer;
  return ELEMENT_BYTES * (Math.ceil(rows * rowElements) + 2 * text.vocabSize * sequences);
}
