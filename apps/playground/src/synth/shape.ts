/** The numbers in which the released text decoders differ (docs/gemma4.md section 1.1); layers follow from them. */
export interface TextShape {
  readonly modelType: 'gemma4' | 'gemma4_unified';
  readonly vocabSize: number;
  readonly hiddenSize: number;
  readonly layerCount: number;
  /** Every n-th layer, and the last one, is a full-attention layer. */
  readonly fullEvery: number;
  readonly headCount: number;
  readonly kvHeadCount: number;
  /** For full layers; null = the same as `kvHeadCount`. */
  readonly globalKvHeadCount: number | null;
  readonly headWidth: number;
  readonly globalHeadWidth: number;
  readonly intermediateSize: number;
  /** The MLP is twice as wide in layers that share K and V. */
  readonly isDoubleWide: boolean;
  /** 0 = no per-layer embedding. */
  readonly perLayerSize: number;
  readonly sharedKvLayerCount: number;
  readonly windowTokens: number;
  readonly maxPositions: number;
  readonly experts: {
    readonly count: number;
    readonly topK: number;
    readonly intermediateSize: number;
  } | null;
  /** Edge of everything in the towers relative to the released ones: 1, or a fraction in tiny models. */
  readonly towerScale: number;
}

const RELEASED = {
  modelType: 'gemma4',
  vocabSize: 262144,
  headWidth: 256,
  globalHeadWidth: 512,
  isDoubleWide: false,
  experts: null,
  towerScale: 1,
} as const;

const SMALL = {
  ...RELEASED,
  globalKvHeadCount: null,
  windowTokens: 512,
  perLayerSize: 256,
  maxPositions: 131072,
};

const LARGE = {
  ...RELEASED,
  fullEvery: 6,
  windowTokens: 1024,
  perLayerSize: 0,
  sharedKvLayerCount: 0,
  maxPositions: 262144,
};

const VARIANTS = {
  e2b: {
    ...SMALL,
    hiddenSize: 1536,
    layerCount: 35,
    fullEvery: 5,
    headCount: 8,
    kvHeadCount: 1,
    intermediateSize: 6144,
    isDoubleWide: true,
    sharedKvLayerCount: 20,
  },
  e4b: {
    ...SMALL,
    hiddenSize: 2560,
    layerCount: 42,
    fullEvery: 6,
    headCount: 8,
    kvHeadCount: 2,
    intermediateSize: 10240,
    sharedKvLayerCount: 18,
  },
  '12b': {
    ...LARGE,
    modelType: 'gemma4_unified',
    hiddenSize: 3840,
    layerCount: 48,
    headCount: 16,
    kvHeadCount: 8,
    globalKvHeadCount: 1,
    intermediateSize: 15360,
  },
  '26b-a4b': {
    ...LARGE,
    hiddenSize: 2816,
    layerCount: 30,
    headCount: 16,
    kvHeadCount: 8,
    globalKvHeadCount: 2,
    intermediateSize: 2112,
    experts: { count: 128, topK: 8, intermediateSize: 704 },
  },
  '31b': {
    ...LARGE,
    hiddenSize: 5376,
    layerCount: 60,
    headCount: 32,
    kvHeadCount: 16,
    globalKvHeadCount: 4,
    intermediateSize: 21504,
  },
} satisfies Record<string, TextShape>;

/** A variant of the family. */
export type VariantName = keyof typeof VARIANTS;

/** Names accepted by `textShape`. */
export const VARIANT_NAMES = Object.keys(VARIANTS) as VariantName[];

/**
 * The text decoder of a variant.
 *
 * @param options.isTiny the same structure, scaled down to run in milliseconds: two periods of layers
 * @param options.layerCount another depth; the share of layers that reuse K and V stays the same
 */
export function textShape(
  variant: VariantName,
  options: { isTiny?: boolean; layerCount?: number } = {},
): TextShape {
  const released: TextShape = VARIANTS[variant];
  const sized = options.isTiny ? tinyShape(released) : released;
  const layerCount = options.layerCount ?? (options.isTiny ? 2 * released.fullEvery : released.layerCount);
  return { ...sized, layerCount, sharedKvLayerCount: sharedLayers(released, layerCount) };
}

function tinyShape(shape: TextShape): TextShape {
  return {
    ...shape,
    vocabSize: 2048,
    hiddenSize: 128,
    headCount: 4,
    kvHeadCount: Math.min(2, shape.kvHeadCount),
    globalKvHeadCount: shape.globalKvHeadCount === null ? null : 1,
    headWidth: 32,
    globalHeadWidth: 64,
    intermediateSize: 256,
    perLayerSize: shape.perLayerSize === 0 ? 0 : 64,
    windowTokens: 64,
    maxPositions: 4096,
    towerScale: 1 / 16,
    experts: shape.experts ? { count: 8, topK: 2, intermediateSize: 64 } : null,
  };
}

/** Keeps the number of owning layers a multiple of the period, so that each kind of layer has a source to share. */
function sharedLayers(released: TextShape, layerCount: number): number {
  if (released.sharedKvLayerCount === 0) return 0;
  const owningShare = 1 - released.sharedKvLayerCount / released.layerCount;
  const period = released.fullEvery;
  const owning = Math.round((layerCount * owningShare) / period) * period;
  return Math.max(0, layerCount - Math.max(period, owning));
}
