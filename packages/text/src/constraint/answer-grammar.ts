import { InvalidArgumentError } from '@markbase/core';
import type { ToolDefinition } from '../chat/index.js';
import { normalizeTools } from '../chat/normalize-tools.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { JSON_DIALECT, toolCallDialect } from './dialect.js';
import {
  ANY_TEXT,
  choice,
  control,
  type Expression,
  literal,
  optional,
  repeat,
  sequence,
} from './grammar.js';
import { anyObjectGrammar, type JsonSchema, schemaGrammar } from './schema-grammar.js';

/** What the text of an answer must be: anything, a JSON object, or JSON that satisfies a schema. */
export type ResponseFormat = 'text' | 'json' | { readonly schema: JsonSchema };
/** Whether the model may, must not or must call a tool, or the tool that it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** What an answer has to comply with. */
export interface AnswerFormat {
  readonly responseFormat?: ResponseFormat;
  readonly toolChoice?: ToolChoice;
  readonly tools?: readonly ToolDefinition[] | null;
  /** The model may think before it answers. */
  readonly mayThink: boolean;
  /** The prompt ends inside an open thought. */
  readonly isReasoningOpen: boolean;
}

/**
 * The grammar of an answer: a thought, if allowed, followed by tool calls or by text in the requested format.
 * null = unconstrained: without a format, calls are held to their schemas only if a call is required or a tool is
 * `strict`.
 *
 * @throws InvalidArgumentError for unsupported schemas, unknown tools, and vocabularies without the tokens that tool
 *   calls need
 */
export function answerGrammar(tokenizer: Tokenizer, format: AnswerFormat): Expression | null {
  const { responseFormat = 'text', toolChoice = 'auto', tools, mayThink, isReasoningOpen } = format;
  const hasTools = (tools?.length ?? 0) > 0;
  if (!hasTools && (toolChoice === 'required' || typeof toolChoice === 'object')) {
    throw new InvalidArgumentError({
      argument: 'toolChoice',
      expected: "'auto' or 'none' without tools",
      received: toolChoice,
    });
  }
  const isFree = toolChoice === 'auto' && !tools?.some((tool) => tool.function.strict);
  if (responseFormat === 'text' && (!hasTools || isFree)) return null;
  const text = textGrammar(responseFormat);
  const calls = hasTools && toolChoice !== 'none' ? callsGrammar(tokenizer, tools!, toolChoice) : null;
  const body = bodyGrammar(text, calls, toolChoice);
  if (isReasoningOpen) return sequence(thought(tokenizer, false), body);
  return mayThink ? sequence(optional(thought(tokenizer, true)), body) : body;
}

function textGrammar(format: ResponseFormat): Expression {
  if (format === 'text') return ANY_TEXT;
  return format === 'json' ? anyObjectGrammar(JSON_DIALECT) : schemaGrammar(format.schema, JSON_DIALECT);
}

function bodyGrammar(text: Expression, calls: Expression | null, choiceOfTool: ToolChoice): Expression {
  if (!calls) return text;
  if (choiceOfTool !== 'auto') return calls;
  // A model may write text before it calls a tool; an answer that must be JSON is either JSON or calls.
  return text === ANY_TEXT ? sequence(text, optional(calls)) : choice(text, calls);
}

const NO_PARAMETERS = { type: 'object', properties: {} };

/** One or more tool calls in a row. */
function callsGrammar(
  tokenizer: Tokenizer,
  tools: readonly ToolDefinition[],
  toolChoice: ToolChoice,
): Expression {
  const dialect = toolCallDialect(idOf(tokenizer, '<|"|>'));
  const named = typeof toolChoice === 'object' ? toolChoice.name : null;
  const known = normalizeTools(tools) as readonly ToolDefinition[];
  const chosen = known.filter(({ function: { name } }) => named === null || name === named);
  if (chosen.length === 0) {
    throw new InvalidArgumentError({
      argument: 'toolChoice',
      expected: 'the name of one of the tools',
      received: named,
    });
  }
  const calls = chosen.map(({ function: { name, parameters } }) =>
    sequence(
      control(idOf(tokenizer, '<|tool_call>')),
      literal(`call:${name}`),
      schemaGrammar((parameters ?? NO_PARAMETERS) as JsonSchema, dialect, { ignoresUnknown: true }),
      control(idOf(tokenizer, '<tool_call|>')),
    ),
  );
  return named === null ? repeat(choice(...calls), 1) : choice(...calls);
}

function thought(tokenizer: Tokenizer, isOpened: boolean): Expression {
  const close = control(idOf(tokenizer, '<channel|>'));
  const open = isOpened ? [control(idOf(tokenizer, '<|channel>')), literal('thought\n')] : [];
  return sequence(...open, ANY_TEXT, close);
}

function idOf(tokenizer: Tokenizer, token: string): number {
  const id = tokenizer.idOf(token);
  if (id !== null) return id;
  throw new InvalidArgumentError({
    argument: 'tools',
    expected: `a vocabulary with the token ${token}`,
    received: 'a vocabulary without it',
    hint: 'Use a checkpoint that was trained for tool calls and thinking',
  });
}
