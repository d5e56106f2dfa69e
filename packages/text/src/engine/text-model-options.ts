import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import type { DeviceInfo, FeedForwardFactory, UploadProgressOptions } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { Language } from '../language.js';
import type { DecoderConfig } from '../model/config.js';
import type { DraftSource } from '../speculation/draft-source.js';

/** Where prefixes are kept when a process ends. */
export interface SavedPrefixesOptions {
  /** Folder of their files, which is created if it does not exist. Several models and processes may share it. */
  readonly directory: string;
  /** Maximum size of all files in bytes: the least recently used ones leave. */
  readonly maxBytes: number;
  /** Receives warnings, such as of damaged files, which are ignored; default: none. */
  readonly onWarning?: (message: string) => void;
}

/** Options of `TextModel.load`. */
export interface TextModelOptions extends UploadProgressOptions {
  /** 'high': float32 everywhere. 'fast' (default): reduced precision where the device benefits from it. */
  readonly precision?: 'high' | 'fast';
  /** Maximum number of tokens in a prompt and its answer; default: the model's trained length, but at most 8192. */
  readonly contextTokens?: number;
  /** Sequences that run at once; default 1. */
  readonly maxSequences?: number;
  /**
   * Sequences beyond `maxSequences` that the caches have room for, so that more prompts are remembered; default 0. Each
   * takes up to `TextModel.sequenceBytes`.
   */
  readonly rememberedSequences?: number;
  /**
   * Maximum size of the caches in bytes, at least one sequence. If running sequences need more, the last ones wait, and
   * what they held is computed again. Default: what `maxSequences + rememberedSequences` full sequences need; on GPUs at
   * most 80 % of the device's memory, without the weights.
   */
  readonly cacheBytes?: number;
  /** Keeps known prefixes in files, where the next process finds them; default: none is kept. */
  readonly savedPrefixes?: SavedPrefixesOptions;
  /** Prompt tokens per step; default 512, or 2048 on NVIDIA GPUs with at least 64 GB. */
  readonly prefillChunk?: number;
  /**
   * Milliseconds between two tokens of an answer while other prompts are read: steps over prompts then have only as many
   * rows as there is time for, at least 32. Default: no target; an answer waits for at most `prefillChunk` rows.
   */
  readonly interTokenMs?: number;
  /** Feed-forward block for models with experts; see @markbase/moe. */
  readonly feedForward?: FeedForwardFactory<Checkpoint>;
  /** Folders of LoRA adapters of PEFT or MLX, by the names under which prompts choose them; default: none. */
  readonly adapters?: Readonly<Record<string, string>>;
  /** The drafter that was trained for the model, as a folder or open: it guesses tokens; see `speculation`. */
  readonly assistant?: string | Checkpoint;
  /**
   * Whether tokens are guessed and verified several at a time, which changes no answer where the device promises equal
   * bits (docs/speculation.md). False: never. True: in all answers that do not refuse. Default: true with an `assistant`
   * on a device that promises equal bits, otherwise in answers that ask for it. An object also says how.
   */
  readonly speculation?: boolean | SpeculationOptions;
  /** Checks for NaN and infinity after every operation; a step then fails with NonFiniteError. Slow. */
  readonly checkFinite?: boolean;
  /** Fusions to disable, or false to disable all; for tests and measurements. */
  readonly fusions?: false | { readonly without: readonly string[] };
  /**
   * Never samples placeholders of media and their delimiters; default true. False samples them as a reference does that
   * only suppresses the ids of generation_config.json.
   */
  readonly suppressPlaceholders?: boolean;
  /** Tokenizer and chat template that are already being loaded; default: loaded on first use. */
  readonly language?: Promise<Language>;
}

/** How tokens are guessed; in all answers that do not refuse. */
export interface SpeculationOptions {
  /** Sources of one's own, preferred in this order before those of the model. */
  readonly sources?: readonly DraftSource[];
  /** Tokens guessed per step, 1 to 16; default: what measurements of costs and success suggest. */
  readonly draftTokens?: number;
}

/** Options of a model with defaults filled in, checked. */
export interface TextModelSettings {
  /** `high` computes in float32; `fast` in reduced precision. */
  readonly precision: 'high' | 'fast';
  /** Maximum number of tokens in a prompt and its answer. */
  readonly contextTokens: number;
  /** Sequences that run at once. */
  readonly maxSequences: number;
  /** Further sequences that remember prompts. */
  readonly rememberedSequences: number;
  /** Maximum size of the caches; null = as large as the sequences need. */
  readonly cacheBytes: number | null;
  /** Where known prefixes are kept when the process ends; null = nowhere. */
  readonly savedPrefixes: SavedPrefixesOptions | null;
  /** Prompt tokens per step. */
  readonly prefillChunk: number;
  /** Milliseconds between two tokens of an answer while other prompts are read; null = no target. */
  readonly interTokenMs: number | null;
  /** Maximum number of rows of one sequence in a step: a chunk, or an image whose rows see each other. */
  readonly maxStepTokens: number;
  /** Tokens are guessed: false = never, true = in all answers that do not refuse, null = where an answer asks for it. */
  readonly speculation: boolean | null;
  /** Checks for NaN and infinity after every operation. */
  readonly checkFinite: boolean;
  /** Placeholders of media and their delimiters are never sampled. */
  readonly suppressPlaceholders: boolean;
  /** Fusions that are disabled; false = all. */
  readonly fusions?: false | { without: readonly string[] };
}

const OPTIONS: OptionNames<TextModelOptions> = {
  precision: true,
  contextTokens: true,
  maxSequences: true,
  rememberedSequences: true,
  cacheBytes: true,
  savedPrefixes: true,
  prefillChunk: true,
  interTokenMs: true,
  feedForward: true,
  adapters: true,
  assistant: true,
  speculation: true,
  checkFinite: true,
  fusions: true,
  suppressPlaceholders: true,
  language: true,
  onProgress: true,
  signal: true,
};
const SAVED_PREFIXES: OptionNames<SavedPrefixesOptions> = {
  directory: true,
  maxBytes: true,
  onWarning: true,
};
const SPECULATION_OPTIONS: OptionNames<SpeculationOptions> = { sources: true, draftTokens: true };
const DEFAULT_CONTEXT_TOKENS = 8192;
const DEFAULT_PREFILL_CHUNK = 512;
/** For GPUs that fewer rows do not fully occupy, with enough memory for the caches and buffers of a longer step. */
const LARGE_PREFILL_CHUNK = 2048;
const LARGE_MEMORY_BYTES = 64e9;
/** The largest soft-token budget of an image (docs/gemma4.md section 3.1). */
const LARGEST_IMAGE_TOKENS = 1120;

/** Fills in defaults and checks the options of a model on a device. @throws InvalidArgumentError */
export function checkedSettings(
  config: DecoderConfig,
  options: TextModelOptions,
  { kind, totalMemoryBytes }: Pick<DeviceInfo, 'kind' | 'totalMemoryBytes'>,
): TextModelSettings {
  checkOptionNames(options, OPTIONS);
  const {
    precision = 'fast',
    contextTokens = Math.min(config.maxPositions, DEFAULT_CONTEXT_TOKENS),
    maxSequences = 1,
    rememberedSequences = 0,
    cacheBytes = null,
    savedPrefixes = null,
    interTokenMs = null,
    checkFinite = false,
    suppressPlaceholders = true,
    fusions,
  } = options;
  const promisesEqualBits = precision === 'high' || kind !== 'cuda';
  const { speculation = options.assistant !== undefined && promisesEqualBits ? true : null } = options;
  if (precision !== 'high' && precision !== 'fast') {
    throw new InvalidArgumentError({
      argument: 'precision',
      expected: "'high' or 'fast'",
      received: precision,
    });
  }
  checkInteger('contextTokens', contextTokens, 2, config.maxPositions);
  checkInteger('maxSequences', maxSequences, 1, 1024);
  checkInteger('rememberedSequences', rememberedSequences, 0, 1024);
  if (cacheBytes !== null) checkInteger('cacheBytes', cacheBytes, 1, Number.MAX_SAFE_INTEGER);
  if (interTokenMs !== null) checkInteger('interTokenMs', interTokenMs, 1, 60_000);
  if (savedPrefixes !== null) checkSavedPrefixes(savedPrefixes);
  checkSpeculation(speculation);
  const isLarge = kind === 'cuda' && totalMemoryBytes >= LARGE_MEMORY_BYTES;
  const defaultChunk = isLarge ? LARGE_PREFILL_CHUNK : DEFAULT_PREFILL_CHUNK;
  const { prefillChunk = Math.min(defaultChunk, contextTokens) } = options;
  checkInteger('prefillChunk', prefillChunk, 1, 16384);
  const largestImage = config.isBidirectionalInImages ? LARGEST_IMAGE_TOKENS : 0;
  const maxStepTokens = Math.min(contextTokens, Math.max(prefillChunk, largestImage));
  const settings = {
    precision,
    contextTokens,
    maxSequences,
    rememberedSequences,
    cacheBytes,
    savedPrefixes,
    prefillChunk,
    interTokenMs,
    maxStepTokens,
    checkFinite,
    suppressPlaceholders,
    speculation: typeof speculation === 'object' && speculation !== null ? true : speculation,
  };
  return fusions === undefined ? settings : { ...settings, fusions: fusions && { without: fusions.without } };
}

function checkSavedPrefixes(options: SavedPrefixesOptions): void {
  checkOptionNames(options, SAVED_PREFIXES, { prefix: 'savedPrefixes.' });
  const { directory, maxBytes } = options;
  if (typeof directory !== 'string' || directory === '') {
    throw new InvalidArgumentError({
      argument: 'savedPrefixes.directory',
      expected: 'a folder',
      received: directory,
    });
  }
  checkInteger('savedPrefixes.maxBytes', maxBytes, 0, Number.MAX_SAFE_INTEGER);
}

function checkSpeculation(received: unknown): void {
  if (received === null || typeof received === 'boolean') return;
  if (typeof received !== 'object') {
    throw new InvalidArgumentError({
      argument: 'speculation',
      expected: 'true, false or an object',
      received,
    });
  }
  checkOptionNames(received as SpeculationOptions, SPECULATION_OPTIONS);
  const { draftTokens } = received as SpeculationOptions;
  if (draftTokens !== undefined) checkInteger('speculation.draftTokens', draftTokens, 1, 16);
}
