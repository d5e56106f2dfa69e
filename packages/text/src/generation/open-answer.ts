import type { TextModel } from '../text-model.js';
import type { GenerateEvent } from './events.js';
import type { GenerateOptions } from './generate-options.js';
import { prepareAnswer } from './prepare.js';
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
  const answer = await prepareAnswer(model, options);
  const { signal, onPrefill } = options;
  return {
    promptTokens: answer.run.prompt.end,
    async *events() {
      const common = { ...(signal && { signal }), ...(onPrefill && { onPrefill }) };
      for await (const { choice } of runTokens(model, [answer.run], common)) yield* answer.push(choice);
    },
  };
}
