import type { ChatMessage, ToolDefinition } from '../chat/index.js';
import type { ResponseFormat, ToolChoice } from '../constraint/answer-grammar.js';
import type { Prompt } from '../engine/prompt.js';
import type { TokenOptions } from './token-options.js';

/** What to answer, and how. Either `messages` or `prompt` is given. */
export interface GenerateOptions extends TokenOptions {
  /**
   * A conversation, rendered with the checkpoint's chat template. Media parts carry their soft tokens. A message of the
   * assistant at the end is the beginning of the answer, which continues it.
   */
  readonly messages?: readonly ChatMessage[];
  /** Plain text to continue, in which nothing is a control token; or token ids, with soft tokens for placeholders. */
  readonly prompt?: string | readonly number[] | Prompt;
  /** Tools that the model may call. */
  readonly tools?: readonly ToolDefinition[] | null;
  /**
   * Holds the text of the answer to a format, token by token: a JSON object, or JSON that a schema describes. The answer is
   * then valid in any case, also when `maxTokens` ends it.
   */
  readonly responseFormat?: ResponseFormat;
  /** Whether the model may, must not or must call tools, or which one; default 'auto'. */
  readonly toolChoice?: ToolChoice;
  /** Whether one answer may call several tools; default true. False ends the answer behind its first call. */
  readonly parallelToolCalls?: boolean;
  /** Lets the model think before it answers; default false. */
  readonly enableThinking?: boolean;
  /** Most tokens of the thinking channel; a thought that reaches it is ended there. Default: no limit of its own. */
  readonly maxThinkingTokens?: number;
  /** Keeps the reasoning of older messages with tool calls in the prompt; default false. */
  readonly preserveThinking?: boolean;
  /** Strings that end the answer; they are not part of it. Reasoning is not searched. */
  readonly stop?: readonly string[];
  /** Reports every token with its log-probability. */
  readonly logprobs?: boolean;
}
