import { ContextLengthError } from '@markbase/core';
import type { Tokenizer } from '../tokenizer/index.js';
import type { ChatMessage, ContentPart } from './chat-message.js';
import { withoutThoughts } from './normalize-messages.js';

/** Minimum number of tokens in a text. */
export function leastTokensOfText(tokenizer: Tokenizer, text: string): number {
  return Math.floor(text.length / (tokenizer.longestTokenUnits ?? Number.POSITIVE_INFINITY));
}

/**
 * Minimum number of tokens in the prompt of a conversation, known immediately, while rendering and encoding take time.
 * Templates drop thoughts and trim texts; every user message is a separate turn.
 */
export function leastTokens(tokenizer: Tokenizer, messages: readonly ChatMessage[]): number {
  if (!Array.isArray(messages)) return 0;
  return messages.reduce((sum, message: ChatMessage) => {
    const turn = message?.role === 'user' ? 1 : 0;
    return sum + turn + contentTokens(tokenizer, message);
  }, 0);
}

/** @throws ContextLengthError if the context does not hold at least this many tokens */
export function checkLeastTokens(tokens: number, contextTokens: number): void {
  if (tokens < contextTokens) return;
  throw new ContextLengthError({ promptTokens: tokens, maxTokens: contextTokens, isLeast: true });
}

function contentTokens(tokenizer: Tokenizer, message: ChatMessage): number {
  const textTokens = (text: unknown) => {
    if (typeof text !== 'string') return 0;
    const kept = message.role === 'assistant' ? withoutThoughts(text) : text;
    return leastTokensOfText(tokenizer, kept.trim());
  };
  const content = message?.content;
  if (!Array.isArray(content)) return textTokens(content);
  return content.reduce((sum: number, part: ContentPart) => {
    if (part?.type === 'text') return sum + textTokens(part.text);
    const { rows } = Object(part?.softTokens) as { rows?: unknown };
    return sum + (typeof rows === 'number' ? rows : 0);
  }, 0);
}
