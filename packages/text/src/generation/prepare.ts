import { InvalidArgumentError } from '@markbase/core';
import { type ChatMessage, encodeChat } from '../chat/index.js';
import { checkInteger } from '../check.js';
import { answerConstraint } from '../constraint/answer-constraint.js';
import type { ResponseFormat } from '../constraint/answer-grammar.js';
import { thinkingBudget } from '../constraint/thinking-budget.js';
import type { Prompt, PromptRows } from '../engine/prompt.js';
import type { Language } from '../language.js';
import type { TextModel } from '../text-model.js';
import { Answer } from './answer.js';
import { expandMedia } from './expand-media.js';
import type { GenerateOptions } from './generate-options.js';
import type { TokenConstraint } from './token-constraint.js';
import { type TokenSettings, tokenSettings } from './token-options.js';
import { TokenRun } from './token-run.js';

/**
 * Turns the options of an answer into a run of tokens and the object that reads them.
 *
 * @throws InvalidArgumentError for options out of range; ContextLengthError for a prompt that does not fit;
 *   ChatTemplateError if the template refuses the conversation
 */
export async function prepareAnswer(model: TextModel, options: GenerateOptions): Promise<Answer> {
  const startMs = performance.now();
  const language = await languageOf(model, options);
  const { prompt, isReasoningOpen } = encodePrompt(model, language, options);
  const stopTokenIds = [...(options.stopTokenIds ?? []), ...(language?.endOfTurnIds ?? [])];
  const settings = tokenSettings(model, { ...options, stopTokenIds });
  const rows = model.layOut(prompt);
  const format =
    options.constraint ?? (await constraintOf(model, language, options, { isReasoningOpen, settings, rows }));
  const constraint = withThinkingBudget(format, model, language, options, isReasoningOpen);
  const run = new TokenRun(model, rows, { ...settings, constraint });
  return new Answer(run, language, { ...options, isReasoningOpen, startMs });
}

/** The constraint for the answer, or null. */
async function constraintOf(
  model: TextModel,
  language: Language | null,
  { responseFormat, toolChoice, tools, enableThinking }: GenerateOptions,
  answer: { readonly isReasoningOpen: boolean; readonly settings: TokenSettings; readonly rows: PromptRows },
): Promise<TokenConstraint | null> {
  if (!language || (responseFormat === undefined && toolChoice === undefined && !tools?.length)) return null;
  const { contextTokens } = model.settings;
  const { settings, rows, isReasoningOpen } = answer;
  return answerConstraint(
    {
      tokenizer: language.tokenizer,
      vocabularySize: model.config.vocabularySize,
      stopIds: [...settings.stopTokenIds],
      maxTokens: Math.min(settings.maxTokens, contextTokens - rows.end),
    },
    {
      mayThink: enableThinking ?? false,
      isReasoningOpen,
      ...(responseFormat !== undefined && { responseFormat }),
      ...(toolChoice !== undefined && { toolChoice }),
      ...(tools !== undefined && { tools }),
    },
  );
}

/** Adds the thinking limit, if one is set and the vocabulary has a thinking channel. */
function withThinkingBudget(
  format: TokenConstraint | null,
  { config: { vocabularySize } }: TextModel,
  language: Language | null,
  { maxThinkingTokens: maxTokens }: GenerateOptions,
  isOpen: boolean,
): TokenConstraint | null {
  if (maxTokens === undefined) return format;
  checkInteger('maxThinkingTokens', maxTokens, 0);
  const openId = language?.tokenizer.idOf('<|channel>') ?? null;
  const closeId = language?.tokenizer.idOf('<channel|>') ?? null;
  if (openId === null || closeId === null) return format;
  return thinkingBudget({ maxTokens, openId, closeId, isOpen, vocabularySize }, format);
}

/** Text in or out needs the tokenizer; without one, a checkpoint only works with ids. */
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
  checkEnd(messages!);
  const encoded = encodeChat(tokenizer, template, messages!, chat);
  if (encoded.isContinued) checkFreeText(chat.responseFormat);
  const { config } = checkpoint;
  // Drafters have no media tokens, but they are never loaded as text models.
  const expanded =
    config.family === 'gemma4_assistant'
      ? encoded
      : expandMedia(encoded, messages!, tokenizer, config.tokens);
  return {
    prompt: { ids: expanded.ids, media: expanded.media as Prompt['media'] },
    isReasoningOpen: encoded.isReasoningOpen,
  };
}

/** @throws InvalidArgumentError for calls at the end: their results are what has to come next, not an answer */
function checkEnd(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages)) return;
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || !last.toolCalls?.length) return;
  throw new InvalidArgumentError({
    argument: `messages[${messages.length - 1}].toolCalls`,
    expected: 'a result of every call after it',
    received: 'the end of the conversation',
  });
}

/** @throws InvalidArgumentError for a format: it describes a whole answer, not the rest of one */
function checkFreeText(format: ResponseFormat | undefined): void {
  if (format === undefined || format === 'text') return;
  throw new InvalidArgumentError({
    argument: 'responseFormat',
    expected: 'text, where the answer continues a message of the assistant',
    received: format,
    hint: 'Leave that message out, or the format',
  });
}

function encodeText({ tokenizer, bosId }: Language, text: string): Prompt {
  const ids = tokenizer.encode(text);
  return { ids: bosId === null ? ids : [bosId, ...ids] };
}

function promptOf(prompt: readonly number[] | Prompt): Prompt {
  return 'ids' in prompt ? prompt : { ids: prompt };
}
