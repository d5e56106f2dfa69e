import type { ChatMessage, ToolDefinition } from '../chat/index.js';
import type { ResponseFormat, ToolChoice } from '../constraint/answer-grammar.js';
import type { Prompt } from '../engine/prompt.js';
import type { TokenOptions } from './token-options.js';

/** What to answer and how. Exactly one of `messages` and `prompt` must be given. */
export interface GenerateOptions extends TokenOptions {
  /**
   * A conversation, rendered with the checkpoint's chat template. Media parts carry their soft tokens. The answer
   * continues an assistant message at the end.
   */
  readonly messages?: readonly ChatMessage[];
  /** Plain text to continue, in which nothing is a control token; or token ids, with soft tokens for placeholders. */
  readonly prompt?: string | readonly number[] | Prompt;
  /** Name of the adapter that computes the answer, of those that the model was loaded with; default: none. */
  readonly adapter?: string;
  /** Tools that the model may call. */
  readonly tools?: readonly ToolDefinition[] | null;
  /**
   * Constrains the text of the answer, token by token, to a JSON object or to JSON that satisfies a schema. The answer
   * is always valid, even if `maxTokens` ends it.
   */
  readonly responseFormat?: ResponseFormat;
  /** Whether the model may, must not or must call a tool, or the tool that it must call; default 'auto'. */
  readonly toolChoice?: ToolChoice;
  /** Whether an answer may call several tools; default true. If false, the answer ends after its first call. */
  readonly parallelToolCalls?: boolean;
  /** Lets the model think before it answers; default false. */
  readonly enableThinking?: boolean;
  /** Maximum number of tokens in the thinking channel; thinking ends there. Default: no separate limit. */
  readonly maxThinkingTokens?: number;
  /** Keeps the reasoning of older messages with tool calls in the prompt; default false. */
  readonly preserveThinking?: boolean;
  /** Strings that end the answer, without being part of it. They have no effect in reasoning. */
  readonly stop?: readonly string[];
  /** A text that the answer is expected to repeat in part, such as a file to be edited: its tokens are guessed. */
  readonly prediction?: string;
  /** Reports every token with its log-probability. */
  readonly logprobs?: boolean;
}
