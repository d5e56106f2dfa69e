import type { TextModel } from '../text-model.js';
import type { Answer } from './answer.js';
import { checkGenerateOptions } from './check-options.js';
import type { GenerateEvent } from './events.js';
import type { GenerateOptions } from './generate-options.js';
import { type EncodedPrompt, encodePrompt, prepareAnswer } from './prepare.js';
import { runTokens } from './run-tokens.js';

/** A request that has been checked and tokenised, but not started. */
export interface OpenAnswer {
  /** Number of tokens in the prompt, media included. */
  readonly promptTokens: number;
  /** Runs the answer like `stream`. Call it once. */
  events(): AsyncGenerator<GenerateEvent, void, void>;
}

/**
 * Checks a request before anything runs, so that a server can still refuse it with a status. `stream` checks and runs.
 *
 * @throws InvalidArgumentError for options out of range; ContextLengthError for a prompt that does not fit;
 *   ChatTemplateError if the template refuses the conversation
 */
export async function openAnswer(model: TextModel, options: GenerateOptions): Promise<OpenAnswer> {
  return opened(model, options, await prepareAnswer(model, options));
}

/**
 * Like `openAnswer`, for several answers. Those with the same `messages`, or the same text as `prompt`, are encoded
 * once, with the tools and template options of the first.
 */
export async function openAnswers(
  model: TextModel,
  requests: readonly GenerateOptions[],
): Promise<OpenAnswer[]> {
  const prompts = new Map<unknown, Promise<EncodedPrompt>>();
  const answers: OpenAnswer[] = [];
  for (const options of requests) {
    checkGenerateOptions(options);
    const key = options.messages ?? options.prompt;
    const encoded = prompts.get(key) ?? encodePrompt(model, options);
    prompts.set(key, encoded);
    answers.push(opened(model, options, await prepareAnswer(model, options, encoded)));
  }
  return answers;
}

function opened(model: TextModel, { signal, onPrefill }: GenerateOptions, answer: Answer): OpenAnswer {
  return {
    promptTokens: answer.run.prompt.end,
    async *events() {
      const common = { ...(signal && { signal }), ...(onPrefill && { onPrefill }) };
      for await (const { choice } of runTokens(model, [answer.run], common)) yield* answer.push(choice);
    },
  };
}
