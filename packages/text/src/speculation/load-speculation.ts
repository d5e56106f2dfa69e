import { type Checkpoint, openCheckpoint } from '@markbase/loader';
import type { Device, KvCache } from '@markbase/metal-runtime';
import type { TextModelOptions, TextModelSettings } from '../engine/text-model-options.js';
import { loadAssistant } from '../model/assistant-weights.js';
import type { DecoderConfig } from '../model/config.js';
import type { Decoder } from '../model/layer.js';
import { AssistantSource } from './assistant-source.js';
import { PromptLookup } from './prompt-lookup.js';
import { Speculation } from './speculation.js';

/** What guesses tokens for a model. */
export interface LoadedSpeculation {
  /** null = nothing ever does. */
  readonly speculation: Speculation | null;
  /** Steps output hidden states, which an assistant goes on from. */
  readonly hasAssistant: boolean;
}

/** The model that tokens are guessed for. */
export interface SpeculationTarget {
  readonly device: Device;
  readonly config: DecoderConfig;
  readonly decoder: Decoder;
  readonly settings: TextModelSettings;
  /** Ids that are never sampled. */
  readonly suppressed: readonly number[];
}

/**
 * Loads what guesses tokens for a model, as its options say.
 *
 * @throws the errors of `openCheckpoint` and `loadAssistant`
 */
export async function loadSpeculation(
  { speculation: options, assistant }: TextModelOptions,
  target: SpeculationTarget,
): Promise<LoadedSpeculation> {
  if (target.settings.speculation === false) return { speculation: null, hasAssistant: false };
  const { sources = [], draftTokens = null } = typeof options === 'object' ? options : {};
  const own = [...sources, new PromptLookup()];
  if (assistant !== undefined) own.push(await assistantOf(assistant, target));
  const excluded = new Set(target.suppressed);
  return {
    speculation: new Speculation({ sources: own, draftTokens, excluded }),
    hasAssistant: assistant !== undefined,
  };
}

async function assistantOf(source: string | Checkpoint, target: SpeculationTarget): Promise<AssistantSource> {
  const { device, config, decoder, settings, suppressed } = target;
  const checkpoint = typeof source === 'string' ? await openCheckpoint(source) : source;
  const { hiddenWidth, vocabularySize } = config;
  const assistant = await loadAssistant({
    ...{ checkpoint, device, hiddenWidth, vocabularySize },
    cacheOf: (kind) => lastCache(decoder, kind),
  });
  return new AssistantSource({ assistant, decoder, device, precision: settings.precision, suppressed });
}

/**
 * The cache of the last layer of a kind that has one. A window includes the row's own position, which no key of the target
 * has yet: the assistant sees one key less.
 */
function lastCache({ layers }: Decoder, kind: 'full' | 'sliding'): KvCache {
  const caches = layers.map(({ attention }) => attention.cache);
  const cache = caches.findLast(({ windowTokens }) => (windowTokens === null) === (kind === 'full'))!;
  return cache.windowTokens === null ? cache : { ...cache, windowTokens: cache.windowTokens - 1 };
}
