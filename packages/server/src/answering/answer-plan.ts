import type { ChatMessage, GenerateOptions } from '@markbase/text';
import type { ServedModel } from '../server-options.js';

/** What a request asks for, whatever API it came through. */
export interface AnswerPlan {
  readonly served: ServedModel;
  /** Media of the messages still have their sources. */
  readonly options: Omit<GenerateOptions, 'signal' | 'reusePrefix'>;
  /** Answers that are wanted. */
  readonly count: number;
  /** The prompt of each answer, where these are no messages. */
  readonly prompts?: readonly (string | readonly number[])[];
}

/** What is sent to the engine: media are soft tokens, and the answer with this index has a seed of its own. */
export function engineOptions(
  { options, count, prompts }: AnswerPlan,
  messages: readonly ChatMessage[] | undefined,
  index: number,
  signal: AbortSignal,
): GenerateOptions {
  const { seed } = options;
  return {
    ...options,
    ...(messages && { messages }),
    ...(prompts && { prompt: prompts[index]! }),
    ...(seed !== undefined && count > 1 && { seed: (seed + index) % 2 ** 53 }),
    reusePrefix: 'exact',
    signal,
  };
}
