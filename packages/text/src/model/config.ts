import { InvalidConfigError, UnsupportedModelError } from '@markbase/core';
import type { Checkpoint, LayerConfig } from '@markbase/loader';

/** What the decoder graph needs to know about a checkpoint; sizes are named after their axes. */
export interface DecoderConfig {
  readonly modelType: string;
  /** D */
  readonly hiddenWidth: number;
  /** H, the same in every layer. */
  readonly headCount: number;
  /** V */
  readonly vocabularySize: number;
  readonly normEps: number;
  /** Keys that a query of a sliding layer sees, itself included. */
  readonly windowTokens: number;
  /** c of logits = c · tanh(logits / c); null = none. */
  readonly logitCap: number | null;
  /** P and the rows of the per-layer table; null = no per-layer embeddings. */
  readonly perLayer: { readonly width: number; readonly vocabularySize: number } | null;
  readonly layers: readonly LayerConfig[];
  /** Index of the last layer that writes keys and values; what follows reads them only. */
  readonly lastCachingLayer: number;
  /** Rows of an image see each other in sliding layers. */
  readonly isBidirectionalInImages: boolean;
  /** Position embeddings were trained up to here. */
  readonly maxPositions: number;
  readonly hasExperts: boolean;
  /** Takes the place of placeholder ids in the per-layer lookup. */
  readonly padTokenId: number;
  readonly placeholders: PlaceholderIds;
}

/** Ids of the tokens that soft tokens stand for, and of their delimiters; null = the model has none. */
export interface PlaceholderIds {
  readonly image: number | null;
  readonly video: number | null;
  readonly audio: number | null;
  /** Delimiters of images and audio: never generated. */
  readonly delimiters: readonly number[];
}

/**
 * Reads what the graph needs from a checkpoint's configuration, and checks what the graph relies on.
 *
 * @throws UnsupportedModelError for a checkpoint that holds no complete decoder with a tied head.
 * @throws InvalidConfigError when sizes or cache sources of layers contradict each other.
 */
export function decoderConfig(checkpoint: Pick<Checkpoint, 'config' | 'directory'>): DecoderConfig {
  const { config } = checkpoint;
  if (config.family === 'gemma4_assistant') {
    throw new UnsupportedModelError({
      modelType: config.modelType,
      reason: 'a drafter has no caches of its own and only runs beside its target model',
    });
  }
  const { text, tokens } = config;
  if (!text.tieWordEmbeddings) {
    throw new UnsupportedModelError({
      modelType: config.modelType,
      reason: 'the output head must be tied to the embedding (tie_word_embeddings)',
    });
  }
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
    if (layer.headDim % 2 !== 0) fail('head_dim', 'even', layer.headDim);
    if (headCount % layer.kvHeadCount !== 0) {
      fail('num_key_value_heads', `a divisor of ${headCount} query heads`, layer.kvHeadCount);
    }
    if (layer.kvSource === null) {
      if (hasShared) fail('num_kv_shared_layers', 'shared layers at the end only', index);
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
    if (!fits) fail('num_kv_shared_layers', 'an earlier layer of the same kind and sizes', layer.kvSource);
  }
}
