import { InvalidConfigError, UnsupportedModelError } from '@markbase/core';
import type { Checkpoint, LayerConfig } from '@markbase/loader';

/** The properties of a checkpoint that the decoder graph depends on; sizes are named after their axes. */
export interface DecoderConfig {
  /** `model_type` of config.json. */
  readonly modelType: string;
  /** D */
  readonly hiddenWidth: number;
  /** H, the same in every layer. */
  readonly headCount: number;
  /** V */
  readonly vocabularySize: number;
  /** Added to the mean square in every norm. */
  readonly normEps: number;
  /** Number of keys that a query of a sliding layer sees, including its own. */
  readonly windowTokens: number;
  /** c of logits = c · tanh(logits / c); null = no soft cap. */
  readonly logitCap: number | null;
  /** P and the number of rows in the per-layer table; null = no per-layer embeddings. */
  readonly perLayer: { readonly width: number; readonly vocabularySize: number } | null;
  /** The layers in order, L of them. */
  readonly layers: readonly LayerConfig[];
  /** Index of the last layer that writes keys and values; later layers only read them. */
  readonly lastCachingLayer: number;
  /** True if the rows of an image see each other in sliding layers. */
  readonly isBidirectionalInImages: boolean;
  /** Number of positions that the model was trained for. */
  readonly maxPositions: number;
  /** True if the layers need a feed-forward block with experts. */
  readonly hasExperts: boolean;
  /** The output head is the embedding matrix. */
  readonly hasTiedHead: boolean;
  /** Replaces placeholder ids in the per-layer lookup. */
  readonly padTokenId: number;
  /** Ids that soft tokens replace. */
  readonly placeholders: PlaceholderIds;
}

/** Ids of the placeholders for soft tokens, and of their delimiters; null if the model lacks them. */
export interface PlaceholderIds {
  /** Placeholder of an image; null if the model takes none. */
  readonly image: number | null;
  /** Placeholder of a video frame; null if the model takes none. */
  readonly video: number | null;
  /** Placeholder of a sound; null if the model takes none. */
  readonly audio: number | null;
  /** Delimiters of images and audio; never generated. */
  readonly delimiters: readonly number[];
}

/**
 * Reads the properties that the graph depends on from a checkpoint's configuration, and checks them.
 *
 * @throws UnsupportedModelError for a drafter
 * @throws InvalidConfigError if the sizes or cache sources of layers contradict each other
 */
export function decoderConfig(checkpoint: Pick<Checkpoint, 'config' | 'directory'>): DecoderConfig {
  const { config } = checkpoint;
  if (config.family === 'gemma4_assistant') {
    throw new UnsupportedModelError({
      modelType: config.modelType,
      reason: 'a drafter has no caches of its own and only runs together with its target model',
    });
  }
  const { text, tokens } = config;
  checkLayers(text.layers, text.headCount, `${checkpoint.directory}/config.json`);
  return {
    modelType: config.modelType,
    hiddenWidth: text.hiddenSize,
    headCount: text.headCount,
    vocabularySize: text.vocabSize,
    normEps: text.rmsNormEps,
    windowTokens: text.slidingWindow,
    logitCap: text.finalLogitSoftcap,
    perLayer:
      text.perLayerInputSize > 0
        ? { width: text.perLayerInputSize, vocabularySize: text.perLayerVocabSize }
        : null,
    layers: text.layers,
    lastCachingLayer: text.layers.findLastIndex((layer) => layer.kvSource === null),
    isBidirectionalInImages: text.bidirectionalVision,
    maxPositions: text.maxPositions,
    hasExperts: text.experts !== null,
    hasTiedHead: text.tieWordEmbeddings,
    padTokenId: text.padTokenId,
    placeholders: {
      image: tokens.image,
      video: tokens.video,
      audio: tokens.audio,
      delimiters: [tokens.beginImage, tokens.endImage, tokens.beginAudio, tokens.endAudio].filter(
        (id): id is number => id !== null,
      ),
    },
  };
}

function checkLayers(layers: readonly LayerConfig[], headCount: number, path: string): void {
  let hasShared = false;
  for (const [index, layer] of layers.entries()) {
    const fail = (key: string, expected: string, received: unknown): never => {
      throw new InvalidConfigError({ path, key: `layer ${index}: ${key}`, expected, received });
    };
    if (layer.headDim % 2 !== 0) fail('head_dim', 'an even number', layer.headDim);
    if (headCount % layer.kvHeadCount !== 0) {
      fail('num_key_value_heads', `a divisor of ${headCount} query heads`, layer.kvHeadCount);
    }
    if (layer.kvSource === null) {
      if (hasShared) fail('num_kv_shared_layers', 'shared layers only at the end', index);
      continue;
    }
    hasShared = true;
    const source = layers[layer.kvSource];
    const fits =
      source !== undefined &&
      layer.kvSource < index &&
      source.kvSource === null &&
      source.kind === layer.kind &&
      source.headDim === layer.headDim &&
      source.kvHeadCount === layer.kvHeadCount;
    if (!fits) fail('num_kv_shared_layers', 'an earlier layer of the same kind and size', layer.kvSource);
  }
}
