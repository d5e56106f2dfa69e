import type { ChatMessage, GenerateOptions } from '@markbase/text';
import type { ServedModel } from '../server-options.js';
import type { ArgumentNames } from './argument-names.js';

/** What a request asks of the engine, independent of the API that it came through. */
export interface AnswerPlan {
  readonly served: ServedModel;
  /** How the API spells the arguments that the engine may refuse. */
  readonly names?: ArgumentNames;
  /** The media parts of the messages still hold their sources. */
  readonly options: Omit<GenerateOptions, 'signal' | 'reusePrefix'>;
  /** Number of answers to generate. */
  readonly count: number;
  /** The prompt of each answer, for requests without messages. */
  readonly prompts?: readonly (string | readonly number[])[];
}

/** The engine options of one answer: media have become soft tokens, and each answer gets its own seed. */
export function engineOptions(
  { served, options, count, prompts }: AnswerPlan,
  messages: readonly ChatMessage[] | undefined,
  index: number,
  signal: AbortSignal,
): GenerateOptions {
  const { seed } = options;
  return {
    ...options,
    ...(messages && { messages }),
    ...(prompts && { prompt: prompts[index]! }),
    ...(served.adapter !== undefined && { adapter: served.adapter }),
    ...(seed !== undefined && count > 1 && { seed: (seed + index) % 2 ** 53 }),
    reusePrefix: 'exact',
    signal,
  };
}
