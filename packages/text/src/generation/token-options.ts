import { checkSampling, type SamplingParams } from '@markbase/metal-runtime';
import { checkInteger } from '../check.js';
import type { TextModel } from '../text-model.js';
import type { TokenConstraint } from './token-constraint.js';

/**
 * How tokens are chosen. What is left out comes from the checkpoint's generation_config.json, else it is off; the default
 * seed is a random one.
 */
export type SamplingOptions = Omit<SamplingParams, 'draw' | 'topLogprobs' | 'history' | 'allowed'>;

/** What ends an answer and what is reported about it. */
export interface TokenOptions extends SamplingOptions {
  /** Most tokens of the answer; default: as many as the context holds. */
  readonly maxTokens?: number;
  /** Tokens that end the answer, besides the checkpoint's own. */
  readonly stopTokenIds?: readonly number[];
  /** Alternatives that are reported with every token, 0 to 20. */
  readonly topLogprobs?: number;
  /**
   * Starts from what earlier prompts left in the caches, as far as it is the same. Default: no, so that a prompt gives the
   * same answer whatever ran before, also with reduced precision; sessions do. 'exact' keeps that promise too: it leaves out
   * what was computed token by token with reduced precision, that is the answers.
   */
  readonly reusePrefix?: boolean | 'exact';
  /** Says before every token which ones may follow. Belongs to this answer alone. */
  readonly constraint?: TokenConstraint;
  /** Called while the prompt is computed. */
  readonly onPrefill?: (progress: { readonly doneTokens: number; readonly totalTokens: number }) => void;
  readonly signal?: AbortSignal;
}

/** Options after defaults and checks. */
export interface TokenSettings {
  readonly sampling: SamplingParams;
  readonly hasPenalty: boolean;
  readonly maxTokens: number;
  readonly stopTokenIds: ReadonlySet<number>;
  readonly reusePrefix: boolean | 'exact';
  readonly constraint: TokenConstraint | null;
}

/**
 * Completes and checks the options of one answer.
 *
 * @throws InvalidArgumentError for values out of range
 */
export function tokenSettings(
  { checkpoint, config }: Pick<TextModel, 'checkpoint' | 'config'>,
  options: TokenOptions,
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
  };
}
