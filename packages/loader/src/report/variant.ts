import type { ModelConfig } from '../config/model-config.js';

/** Members of the family, by their structure. */
export type VariantName = 'e2b' | 'e4b' | '12b' | '26b-a4b' | '31b';

/** Sizes that distinguish a released model from a smaller one of the same structure. */
interface ReleasedSize {
  readonly hiddenSize: number;
  readonly layerCount: number;
  readonly intermediateSize: number;
}

const RELEASED: Readonly<Record<VariantName, ReleasedSize>> = {
  e2b: { hiddenSize: 1536, layerCount: 35, intermediateSize: 6144 },
  e4b: { hiddenSize: 2560, layerCount: 42, intermediateSize: 10_240 },
  '12b': { hiddenSize: 3840, layerCount: 48, intermediateSize: 15_360 },
  '26b-a4b': { hiddenSize: 2816, layerCount: 30, intermediateSize: 2112 },
  '31b': { hiddenSize: 5376, layerCount: 60, intermediateSize: 21_504 },
};

/** The sizes of a variant as it was released. */
export function releasedVariant(variant: VariantName): ReleasedSize {
  return RELEASED[variant];
}

/** The member of the family whose structure a model has, whatever its size; null for a drafter. */
export function variantOf({ family, text }: ModelConfig): VariantName | null {
  if (family === 'gemma4_assistant') return null;
  if (family === 'gemma4_unified') return '12b';
  if (text.experts) return '26b-a4b';
  if (text.perLayerInputSize === 0) return '31b';
  return text.layers.some((layer) => layer.intermediateSize > text.intermediateSize) ? 'e2b' : 'e4b';
}
