import { InvalidArgumentError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import { type ChatTemplate, loadChatTemplate } from './chat/index.js';
import { loadTokenizer, type Tokenizer } from './tokenizer/index.js';

/** Turns text into tokens and conversations into prompts. */
export interface Language {
  /** Turns text into token ids and back. */
  readonly tokenizer: Tokenizer;
  /** null for base models, which are not made for conversations. */
  readonly template: ChatTemplate | null;
  /** Tokens that end a turn, independent of the checkpoint's configuration (docs/gemma4.md section 8.6). */
  readonly endOfTurnIds: readonly number[];
  /** Token that precedes plain text, or null. */
  readonly bosId: number | null;
}

/** Tokens that a model writes to end its turn or to wait for the result of a tool. */
const END_OF_TURN = ['<turn|>', '<|tool_response>'];

/**
 * Loads the tokenizer and the chat template of a checkpoint.
 *
 * @throws InvalidArgumentError if the checkpoint has no tokenizer.json; FileAccessError and CorruptFileError
 */
export async function loadLanguage(
  checkpoint: Checkpoint,
  options: { signal?: AbortSignal } = {},
): Promise<Language> {
  const { tokenizer: path, chatTemplate, chatTemplateJson, tokenizerConfig } = checkpoint.files;
  if (path === null) {
    throw new InvalidArgumentError({
      argument: 'checkpoint',
      expected: `a tokenizer.json in ${checkpoint.directory}`,
      received: 'none',
      hint: 'Without it, prompts must be token ids',
    });
  }
  const [tokenizer, template] = await Promise.all([
    loadTokenizer(path, options),
    loadChatTemplate({ chatTemplate, chatTemplateJson, tokenizerConfig }),
  ]);
  return {
    tokenizer,
    template,
    endOfTurnIds: END_OF_TURN.map((text) => tokenizer.idOf(text)).filter((id) => id !== null),
    bosId: tokenizer.idOf(template?.bosToken ?? '<bos>'),
  };
}
