import type { GenerateOptions, GenerateResult } from '@markbase/text';
import type { Message } from './media/message.js';
import type { AnswerSchema } from './schema/answer-schema.js';
import type { ToolRun } from './tools/run-calls.js';
import type { Tool } from './tools/tool.js';

/** How to answer: the options of `generate` in @markbase/text, and a system prompt. */
export interface AnswerOptions extends Omit<GenerateOptions, 'messages' | 'prompt' | 'responseFormat'> {
  /** Instructions that precede the conversation. */
  readonly system?: string;
  /** Constrains the answer to JSON, or to JSON that satisfies a JSON Schema; see also `schema`. */
  readonly responseFormat?: GenerateOptions['responseFormat'];
}

/** How to answer with a value. */
export interface ValueOptions<Value> extends Omit<AnswerOptions, 'responseFormat'> {
  /** What the answer must be, as a schema of zod or a JSON Schema. Tokens that cannot continue such an answer are never chosen. */
  readonly schema: AnswerSchema<Value>;
}

/** An answer that satisfies a schema. */
export interface ValueResult<Value> extends GenerateResult {
  /** The answer as a value, parsed and checked by the schema. */
  readonly value: Value;
}

/** How to answer with tools. */
export interface RunToolsOptions extends Omit<AnswerOptions, 'tools'> {
  /** The tools that the model may call. */
  readonly tools: readonly Tool[];
  /** Maximum number of answers with calls before the last one; default 8. */
  readonly maxRounds?: number;
}

/** An answer after tool calls. */
export interface RunToolsResult extends GenerateResult {
  /** The calls with their results, in order. */
  readonly runs: readonly ToolRun[];
  /** The conversation, including calls, results and this answer; continue it with further messages. */
  readonly messages: readonly Message[];
}
