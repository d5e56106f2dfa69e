import { InvalidArgumentError } from '@markbase/core';
import type { Checkpoint } from '@markbase/loader';
import { encodeChatInSlices } from '../chat/encode-chat.js';
import type { ChatMessage, ChatOptions, EncodedChat } from '../chat/index.js';
import { checkLeastTokens, leastTokens, leastTokensOfText } from '../chat/least-tokens.js';
import { checkInteger } from '../check.js';
import { answerConstraint } from '../constraint/answer-constraint.js';
import type { ResponseFormat } from '../constraint/answer-grammar.js';
import { thinkingBudget } from '../constraint/thinking-budget.js';
import type { Prompt, PromptRows } from '../engine/prompt.js';
import type { Language } from '../language.js';
import type { TextModel } from '../text-model.js';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Answer } from './answer.js';
import { checkGenerateOptions } from './check-options.js';
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
export async function prepareAnswer(
  model: TextModel,
  options: GenerateOptions,
  encoded?: Promise<EncodedPrompt>,
): Promise<Answer> {
  checkGenerateOptions(options);
  const startMs = performance.now();
  const { language, prompt, isReasoningOpen } = await (encoded ?? encodePrompt(model, options));
  const stopTokenIds = [...(options.stopTokenIds ?? []), ...(language?.endOfTurnIds ?? [])];
  const prediction = await predicted(language, options);
  const settings = tokenSettings(model, { ...options, stopTokenIds }, prediction);
  const { adapter } = options;
  const rows = model.layOut(adapter === undefined ? prompt : { ...prompt, adapter });
  const format =
    options.constraint ?? (await constraintOf(model, language, options, { isReasoningOpen, settings, rows }));
  const constraint = withThinkingBudget(format, model, language, options, isReasoningOpen);
  const run = new TokenRun(model, rows, { ...settings, constraint });
  return new Answer(run, language, { ...options, isReasoningOpen, startMs });
}

/** The tokens of a predicted text; none without a tokenizer. */
async function predicted(
  language: Language | null,
  { prediction = '', signal }: GenerateOptions,
): Promise<number[]> {
  if (!language || prediction === '') return [];
  return [...(await language.tokenizer.encodeInSlices(prediction, new EventLoopSlice(signal)))];
}

/** The constraint for the answer, or null. */
async function constraintOf(
  model: TextModel,
  language: Language | null,
  { responseFormat, toolChoice, tools, enableThinking, signal }: GenerateOptions,
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
      ...(signal && { signal }),
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

/** A prompt as tokens; several answers may share it. */
export interface EncodedPrompt {
  readonly language: Language | null;
  readonly prompt: Prompt;
  /** The prompt ends inside an open thought. */
  readonly isReasoningOpen: boolean;
}

/** Encodes the prompt of an answer without blocking the event loop. Errors: those of `prepareAnswer`. */
export async function encodePrompt(model: TextModel, options: GenerateOptions): Promise<EncodedPrompt> {
  const { messages, prompt, signal, ...chat } = options;
  if ((messages === undefined) === (prompt === undefined)) {
    throw new InvalidArgumentError({
      argument: 'options',
      expected: 'either messages or a prompt',
      received: messages === undefined ? 'neither' : 'both',
    });
  }
  const language = await languageOf(model, options);
  const { contextTokens } = model.settings;
  if (prompt !== undefined) {
    const isText = typeof prompt === 'string';
    const encoded = isText ? await encodeText(language!, prompt, contextTokens, signal) : promptOf(prompt);
    return { language, prompt: encoded, isReasoningOpen: false };
  }
  const { tokenizer, template } = language!;
  const { checkpoint } = model;
  if (template === null) throw withoutTemplate(checkpoint);
  checkEnd(messages!);
  checkLeastTokens(leastTokens(tokenizer, messages!), contextTokens);
  const encoded = await encodeChatInSlices(tokenizer, template, messages!, chat, { contextTokens, signal });
  if (encoded.isContinued) checkFreeText(chat.responseFormat);
  return {
    language,
    prompt: withMedia(checkpoint, encoded, messages!, tokenizer),
    isReasoningOpen: encoded.isReasoningOpen,
  };
}

/** A conversation without the beginning of an answer, as later prompts begin with it. Errors: those of `prepareAnswer`. */
export async function encodeConversation(
  model: TextModel,
  messages: readonly ChatMessage[],
  chat: Omit<ChatOptions, 'addGenerationPrompt'>,
): Promise<Prompt> {
  const { tokenizer, template } = await model.language();
  if (template === null) throw withoutTemplate(model.checkpoint);
  const limits = { contextTokens: model.settings.contextTokens };
  const options = { ...chat, addGenerationPrompt: false };
  const encoded = await encodeChatInSlices(tokenizer, template, messages, options, limits);
  return withMedia(model.checkpoint, encoded, messages, tokenizer);
}

/** The tokens of a conversation, with a placeholder for each soft token. */
function withMedia(
  { config }: Checkpoint,
  encoded: EncodedChat,
  messages: readonly ChatMessage[],
  tokenizer: Tokenizer,
): Prompt {
  // Drafters have no media tokens, but they are never loaded as text models.
  if (config.family === 'gemma4_assistant') return { ids: encoded.ids };
  return expandMedia(encoded, messages, tokenizer, config.tokens);
}

function withoutTemplate({ directory }: Checkpoint): InvalidArgumentError {
  return new InvalidArgumentError({
    argument: 'messages',
    expected: 'a checkpoint with a chat template',
    received: `none in ${directory}`,
    hint: 'Base models continue plain text: use `prompt`',
  });
}

/** @throws InvalidArgumentError for calls at the end, because their results have to come next, not an answer */
function checkEnd(messages: readonly ChatMessage[]): void {
  if (!Array.isArray(messages)) return;
  const last = messages.at(-1);
  if (last?.role !== 'assistant' || !last.toolCalls?.length) return;
  throw new InvalidArgumentError({
    argument: `messages[${messages.length - 1}].toolCalls`,
    expected: 'a result for every call',
    received: 'the end of the conversation',
  });
}

/** @throws InvalidArgumentError for a format, because it describes a complete answer, not the rest of one */
function checkFreeText(format: ResponseFormat | undefined): void {
  if (format === undefined || format === 'text') return;
  throw new InvalidArgumentError({
    argument: 'responseFormat',
    expected: "'text', because the answer continues an assistant message",
    received: format,
    hint: 'Remove that message or the format',
  });
}

async function encodeText(
  { tokenizer, bosId }: Language,
  text: string,
  contextTokens: number,
  signal: AbortSignal | undefined,
): Promise<Prompt> {
  checkLeastTokens(leastTokensOfText(tokenizer, text), contextTokens);
  const encoded = await tokenizer.encodeInSlices(text, new EventLoopSlice(signal));
  const ids = new Int32Array(encoded.length + (bosId === null ? 0 : 1));
  if (bosId !== null) ids[0] = bosId;
  ids.set(encoded, ids.length - encoded.length);
  return { ids };
}

function promptOf(prompt: readonly number[] | Prompt): Prompt {
  return 'ids' in prompt ? prompt : { ids: prompt };
}
