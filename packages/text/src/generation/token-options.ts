import { checkSampling, type SamplingParams } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { TextModel } from '../text-model.js';
import type { TokenConstraint } from './token-constraint.js';

/**
 * How tokens are sampled. Omitted options come from the checkpoint's generation_config.json, or else are off; the
 * default seed is random. As in OpenAI's interface, the temperature is from 0 to 2, and the presence and frequency
 * penalties are from -2 to 2.
 */
export type SamplingOptions = Omit<SamplingParams, 'draw' | 'topLogprobs' | 'history' | 'allowed'>;

/** When an answer ends, and what is reported about it. */
export interface TokenOptions extends SamplingOptions {
  /** Maximum number of tokens in the answer; default: as many as fit the context. */
  readonly maxTokens?: number;
  /** Further tokens that end the answer, besides the checkpoint's own. */
  readonly stopTokenIds?: readonly number[];
  /** Number of alternatives reported with every token, 0 to 20. */
  readonly topLogprobs?: number;
  /**
   * Reuses what earlier prompts left in the caches, as far as it is identical. Default: false, so that an answer does
   * not depend on what ran before, even with reduced precision; sessions set it. 'exact' keeps that guarantee too: it
   * does not reuse answers, which reduced precision computes with other kernels than prompts.
   */
  readonly reusePrefix?: boolean | 'exact';
  /**
   * Whether tokens are guessed, where the model can; the answer is the same (docs/speculation.md). Default: what the model
   * was loaded with, and true with a `prediction`.
   */
  readonly speculation?: boolean;
  /** Determines the allowed tokens before each token. Use a separate object for each answer. */
  readonly constraint?: TokenConstraint;
  /** Called while the prompt is computed. */
  readonly onPrefill?: (progress: { readonly doneTokens: number; readonly totalTokens: number }) => void;
  /** Aborts the answer, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
}

/** Options with defaults filled in, checked. */
export interface TokenSettings {
  readonly sampling: SamplingParams;
  readonly hasPenalty: boolean;
  readonly maxTokens: number;
  readonly stopTokenIds: ReadonlySet<number>;
  readonly reusePrefix: boolean | 'exact';
  readonly constraint: TokenConstraint | null;
  /** Further tokens may be guessed. */
  readonly speculation: boolean;
  /** Tokens of a text that the answer is expected to repeat in part. */
  readonly prediction: readonly number[];
}

/**
 * Fills in defaults and checks the options of one answer.
 *
 * @throws InvalidArgumentError for values out of range
 */
export function tokenSettings(
  { checkpoint, config, settings }: Pick<TextModel, 'checkpoint' | 'config' | 'settings'>,
  options: TokenOptions,
  prediction: readonly number[] = [],
): TokenSettings {
  const { generation } = checkpoint;
  const { maxTokens = Number.POSITIVE_INFINITY, stopTokenIds = [], reusePrefix = false } = options;
  if (maxTokens !== Number.POSITIVE_INFINITY) checkInteger('maxTokens', maxTokens, 1);
  for (const id of stopTokenIds) checkInteger('stopTokenIds', id, 0, config.vocabularySize - 1);
  const sampling = checkSampling({
    temperature: options.temperature ?? generation.temperature ?? 0,
    topK: options.topK ?? generation.topK ?? 0,
    topP: options.topP ?? generation.topP ?? 1,
    minP: options.minP ?? 0,
    repetitionPenalty: options.repetitionPenalty ?? 1,
    presencePenalty: options.presencePenalty ?? 0,
    frequencyPenalty: options.frequencyPenalty ?? 0,
    seed: options.seed ?? Math.floor(Math.random() * 2 ** 53),
    topLogprobs: options.topLogprobs ?? 0,
    ...(options.logitBias && { logitBias: options.logitBias }),
  });
  return {
    sampling,
    hasPenalty:
      sampling.repetitionPenalty !== 1 || sampling.presencePenalty !== 0 || sampling.frequencyPenalty !== 0,
    maxTokens,
    stopTokenIds: new Set([...generation.stopTokenIds, ...stopTokenIds]),
    reusePrefix,
    constraint: options.constraint ?? null,
    speculation:
      settings.speculation !== false &&
      (options.speculation ?? (settings.speculation || prediction.length > 0)),
    prediction,
  };
}
