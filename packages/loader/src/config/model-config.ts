import { UnsupportedModelError } from '@markbase/core';
import {
  type AudioTowerConfig,
  parseAudioTower,
  parseUnifiedAudio,
  type UnifiedAudioConfig,
} from './audio-config.js';
import { ConfigReader } from './config-reader.js';
import { parseTextConfig, type TextConfig } from './text-config.js';
import {
  parseUnifiedVision,
  parseVisionTower,
  type UnifiedVisionConfig,
  type VisionTowerConfig,
} from './vision-config.js';

/** Ids of the placeholder and delimiter tokens; null where the config does not name one. */
export interface SpecialTokenIds {
  /** Placeholder of one soft token of an image; null if the model takes none. */
  readonly image: number | null;
  /** Placeholder of one soft token of a video frame; null if the model takes none. */
  readonly video: number | null;
  /** Placeholder of one soft token of a sound; null if the model takes none. */
  readonly audio: number | null;
  /** Precedes the soft tokens of an image or a video frame. */
  readonly beginImage: number | null;
  /** Follows the soft tokens of an image or a video frame. */
  readonly endImage: number | null;
  /** Precedes the soft tokens of a sound. */
  readonly beginAudio: number | null;
  /** Follows the soft tokens of a sound. */
  readonly endAudio: number | null;
}

/** E2B, E4B, 26B-A4B, 31B: a decoder with towers, or the decoder alone. */
export interface Gemma4Config {
  readonly family: 'gemma4';
  /** `model_type` of config.json. */
  readonly modelType: 'gemma4' | 'gemma4_text';
  /** The text decoder. */
  readonly text: TextConfig;
  /** null = the model takes no images. */
  readonly vision: VisionTowerConfig | null;
  /** null = the model takes no audio. */
  readonly audio: AudioTowerConfig | null;
  /** Ids of the tokens around media. */
  readonly tokens: SpecialTokenIds;
}

/** 12B: pictures and sound enter the decoder without an encoder. */
export interface Gemma4UnifiedConfig {
  readonly family: 'gemma4_unified';
  /** `model_type` of config.json. */
  readonly modelType: 'gemma4_unified' | 'gemma4_unified_text';
  /** The text decoder. */
  readonly text: TextConfig;
  /** The embedder of pictures; null if the checkpoint has none. */
  readonly vision: UnifiedVisionConfig | null;
  /** The embedder of sound; null if the checkpoint has none. */
  readonly audio: UnifiedAudioConfig | null;
  /** Ids of the tokens around media. */
  readonly tokens: SpecialTokenIds;
}

/** A drafter: a small decoder that reads the keys and values of its target. */
export interface Gemma4AssistantConfig {
  readonly family: 'gemma4_assistant';
  /** `model_type` of config.json. */
  readonly modelType: 'gemma4_assistant' | 'gemma4_unified_assistant';
  /** The text decoder of the drafter. */
  readonly text: TextConfig;
  /** D of the target. */
  readonly backboneHiddenSize: number;
  /** Centroid head: scores `topK` of the `centroids` groups of the vocabulary; null = a plain head. */
  readonly orderedEmbeddings: { readonly centroids: number; readonly topK: number } | null;
}

/** A parsed config.json, discriminated by `family`. */
export type ModelConfig = Gemma4Config | Gemma4UnifiedConfig | Gemma4AssistantConfig;

const SUPPORTED =
  'expected gemma4, gemma4_text, gemma4_unified, gemma4_unified_text, gemma4_assistant or gemma4_unified_assistant';

/**
 * Parses config.json.
 *
 * @param json the parsed file
 * @param path of the file, for messages
 * @throws UnsupportedModelError for other architectures and options that the engine does not compute;
 * InvalidConfigError for a wrong value
 */
export function parseModelConfig(json: unknown, path: string): ModelConfig {
  const root = new ConfigReader(json, path);
  const modelType = root.string('model_type', '');
  switch (modelType) {
    case 'gemma4':
    case 'gemma4_text': {
      const vision = root.object('vision_config');
      const audio = root.object('audio_config');
      return {
        family: 'gemma4',
        modelType,
        text: parseTextConfig(textReader(root, modelType), root, false),
        vision: vision === null ? null : parseVisionTower(vision),
        audio: audio === null ? null : parseAudioTower(audio),
        tokens: parseTokens(root),
      };
    }
    case 'gemma4_unified':
    case 'gemma4_unified_text': {
      const vision = root.object('vision_config');
      const audio = root.object('audio_config');
      return {
        family: 'gemma4_unified',
        modelType,
        text: parseTextConfig(textReader(root, modelType), root, false),
        vision: vision === null ? null : parseUnifiedVision(vision),
        audio: audio === null ? null : parseUnifiedAudio(audio),
        tokens: parseTokens(root),
      };
    }
    case 'gemma4_assistant':
    case 'gemma4_unified_assistant':
      return {
        family: 'gemma4_assistant',
        modelType,
        text: parseTextConfig(textReader(root, modelType), root, true),
        backboneHiddenSize: root.integer('backbone_hidden_size'),
        orderedEmbeddings: parseOrderedEmbeddings(root),
      };
    default:
      if (!root.has('model_type')) root.fail('model_type', 'a string');
      throw new UnsupportedModelError({ modelType, reason: `${path}: ${SUPPORTED}` });
  }
}

/** The text part: `text_config`, or the whole file of a text-only model. */
function textReader(root: ConfigReader, modelType: string): ConfigReader {
  const nested = root.object('text_config');
  if (nested !== null) return nested;
  return modelType.endsWith('_text') ? root : root.fail('text_config', 'an object');
}

function parseTokens(root: ConfigReader): SpecialTokenIds {
  const id = (name: string) => root.tokenId(root.spelling(`${name}_token_id`, `${name}_token_index`));
  return {
    image: id('image'),
    video: id('video'),
    audio: id('audio'),
    beginImage: id('boi'),
    endImage: id('eoi'),
    beginAudio: id('boa'),
    endAudio: id('eoa'),
  };
}

/** The centroid keys are present even if the flag is off; only the flag counts. */
function parseOrderedEmbeddings(root: ConfigReader): Gemma4AssistantConfig['orderedEmbeddings'] {
  if (!root.boolean('use_ordered_embeddings', false)) return null;
  const centroids = root.integer('num_centroids');
  return { centroids, topK: root.integer('centroid_intermediate_top_k', { max: centroids }) };
}
