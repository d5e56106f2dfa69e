import type { Ops, RowAxis, Value } from '@markbase/metal-runtime';
import type { Decoder, Layer } from './layer.js';

/** Inputs that layers share for the rows R: rope tables and per-layer embeddings. Recorded before the layers. */
export interface RowInputs<R extends RowAxis> {
  /** [R, K]: cosines and sines of the decoder's `ropeFrequencies[index]`. */
  rope(index: number): Value<R, 'K'>;
  /** [R, P]: the layer's slice of the per-layer embeddings. */
  perLayer(layerIndex: number): Value<R, 'P'>;
}

/**
 * Records the inputs for `layers`, which run on the rows R.
 *
 * @param embeddings per-layer embeddings of these rows; null if the model has none
 */
export function rowInputs<R extends RowAxis>(
  ops: Ops,
  decoder: Decoder,
  rows: R,
  layers: readonly Layer[],
  embeddings: Value<R, 'LP'> | null,
): RowInputs<R> {
  const ropes = new Map<number, Value<R, 'K'>>();
  for (const index of new Set(layers.map((layer) => layer.attention.ropeIndex))) {
    ropes.set(index, ops.ropeTable(rows, decoder.ropeFrequencies[index]!));
  }
  const width = decoder.perLayer?.width ?? 0;
  return {
    rope: (index) => ropes.get(index)!,
    perLayer: (layerIndex) => ops.columns(embeddings!, { axis: 'P', begin: layerIndex * width, width }),
  };
}
