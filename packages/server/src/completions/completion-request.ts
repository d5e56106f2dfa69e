import { z } from 'zod';
import { harmlessFields, hint, optional, samplingFields } from '../chat/chat-request.js';

const tokenIds = z.array(z.int().min(0)).min(1);

/** Body of `POST /v1/completions`: text to continue, without a chat template. */
export const completionRequest = z.strictObject({
  model: z.string(),
  prompt: z.union([z.string(), tokenIds, z.array(z.string()).min(1), z.array(tokenIds).min(1)]),
  max_tokens: optional(z.int().min(1)),
  n: optional(z.int().min(1)),
  best_of: optional(z.literal(1)),
  echo: optional(z.literal(false)),
  suffix: optional(z.literal('')),
  logprobs: optional(z.int().min(0).max(20)),
  stream: optional(z.boolean()),
  stream_options: optional(
    z.strictObject({ include_usage: optional(z.boolean()), include_obfuscation: hint }),
  ),
  ...samplingFields,
  ...harmlessFields,
});

/** A checked body of `POST /v1/completions`. */
export type CompletionRequest = z.output<typeof completionRequest>;

/** OpenAI's default for `max_tokens`. */
const DEFAULT_MAX_TOKENS = 16;

/** The prompts of a request, each as text or token ids. */
export function promptsOf({ prompt }: CompletionRequest): readonly (string | readonly number[])[] {
  if (typeof prompt === 'string') return [prompt];
  return typeof prompt[0] === 'number' ? [prompt as number[]] : (prompt as string[] | number[][]);
}

/** Maximum number of tokens in an answer. */
export function maxTokensOf({ max_tokens: most }: CompletionRequest): number {
  return most ?? DEFAULT_MAX_TOKENS;
}
