import type { TextModel } from '../text-model.js';
import type { GenerateEvent } from './events.js';
import type { GenerateOptions } from './generate-options.js';
import { prepareAnswer } from './prepare.js';
import { runTokens } from './run-tokens.js';

/** A request that was checked and turned into tokens, but whose answer has not begun. */
export interface OpenAnswer {
  /** Tokens of the prompt, those of media included. */
  readonly promptTokens: number;
  /** Runs the answer, as `stream` does; to be called once. */
  events(): AsyncGenerator<GenerateEvent, void, void>;
}

/**
 * Checks a request before anything runs, so that a server can refuse it while it still may say so. `stream` does both.
 *
 * @throws InvalidArgumentError for options out of range; ContextLengthError for a prompt that does not fit;
 *   ChatTemplateError when the template refuses the conversation
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
