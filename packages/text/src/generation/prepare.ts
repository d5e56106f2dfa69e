import { InvalidArgumentError } from '@markbase/core';
import { encodeChat } from '../chat/index.js';
import type { Prompt } from '../engine/prompt.js';
import type { Language } from '../language.js';
import type { TextModel } from '../text-model.js';
import { Answer } from './answer.js';
import { expandMedia } from './expand-media.js';
import type { GenerateOptions } from './generate-options.js';
import { tokenSettings } from './token-options.js';
import { TokenRun } from './token-run.js';

/**
 * Turns the options of one answer into a run of tokens and what reads them.
 *
 * @throws InvalidArgumentError for options out of range; ContextLengthError for a prompt that does not fit;
 *   ChatTemplateError when the template refuses the conversation
 */
export async function prepareAnswer(model: TextModel, options: GenerateOptions): Promise<Answer> {
  const startMs = performance.now();
  const language = await languageOf(model, options);
  const { prompt, isReasoningOpen } = encodePrompt(model, language, options);
  const stopTokenIds = [...(options.stopTokenIds ?? []), ...(language?.endOfTurnIds ?? [])];
  const settings = tokenSettings(model, { ...options, stopTokenIds });
  const run = new TokenRun(model, model.layOut(prompt), settings);
  return new Answer(run, language, { ...options, isReasoningOpen, startMs });
}

/** The tokenizer is needed for text in or out; a checkpoint without one takes and gives ids. */
async function languageOf(model: TextModel, options: GenerateOptions): Promise<Language | null> {
  const needsText = typeof options.prompt === 'string' || options.messages !== undefined;
  if (!needsText && model.checkpoint.files.tokenizer === null && !options.stop?.length) return null;
  const language = await model.language();
  options.signal?.throwIfAborted();
  return language;
}

function encodePrompt(
  { checkpoint }: TextModel,
  language: Language | null,
  { messages, prompt, ...chat }: GenerateOptions,
): { prompt: Prompt; isReasoningOpen: boolean } {
  if ((messages === undefined) === (prompt === undefined)) {
    throw new InvalidArgumentError({
      argument: 'options',
      expected: 'either messages or a prompt',
      received: messages === undefined ? 'neither' : 'both',
    });
  }
  if (prompt !== undefined) {
    return {
      prompt: typeof prompt === 'string' ? encodeText(language!, prompt) : promptOf(prompt),
      isReasoningOpen: false,
    };
  }
  const { tokenizer, template } = language!;
  if (template === null) {
    throw new InvalidArgumentError({
      argument: 'messages',
      expected: 'a checkpoint with a chat template',
      received: `none in ${checkpoint.directory}`,
      hint: 'Base models continue plain text: use `prompt`',
    });
  }
  const encoded = encodeChat(tokenizer, template, messages!, chat);
  const { config } = checkpoint;
  // Drafters have no media tokens, but no text model is loaded from one.
  const expanded =
    config.family === 'gemma4_assistant'
      ? encoded
      : expandMedia(encoded, messages!, tokenizer, config.tokens);
  return {
    prompt: { ids: expanded.ids, media: expanded.media as Prompt['media'] },
    isReasoningOpen: encoded.isReasoningOpen,
  };
}

function encodeText({ tokenizer, bosId }: Language, text: string): Prompt {
  const ids = tokenizer.encode(text);
  return { ids: bosId === null ? ids : [bosId, ...ids] };
}

function promptOf(prompt: readonly number[] | Prompt): Prompt {
  return 'ids' in prompt ? prompt : { ids: prompt };
}
