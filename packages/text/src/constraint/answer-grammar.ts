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
import { GrammarBudget } from './grammar-budget.js';
import type { JsonSchema } from './schema/json-schema.js';
import { refuseUnsupported } from './schema/refusals.js';
import { anyObjectGrammar, schemaGrammar } from './schema/schema-grammar.js';

/** What the text of an answer must be: anything, a JSON object, or JSON that a schema describes. */
export type ResponseFormat = 'text' | 'json' | { readonly schema: JsonSchema };
/** Whether the model may, must not or must call tools, or which one it must call. */
export type ToolChoice = 'auto' | 'none' | 'required' | { readonly name: string };

/** What constrains an answer. */
export interface AnswerFormat {
  readonly responseFormat?: ResponseFormat;
  readonly toolChoice?: ToolChoice;
  readonly tools?: readonly ToolDefinition[] | null;
  /** The model may think first. */
  readonly mayThink: boolean;
  /** The prompt ends inside an open thought. */
  readonly isReasoningOpen: boolean;
}

/** The part of a tokenizer that grammars need. */
export type TokenIds = Pick<Tokenizer, 'idOf'>;

/** The control tokens that grammars may contain. */
export const GRAMMAR_TOKENS = ['<|"|>', '<|tool_call>', '<tool_call|>', '<|channel>', '<channel|>'] as const;

/** False if answers may be any text and any calls. */
export function isConstrained({
  responseFormat = 'text',
  toolChoice = 'auto',
  tools,
}: AnswerFormat): boolean {
  if (responseFormat !== 'text') return true;
  if (typeof toolChoice === 'object' || toolChoice === 'required') return true;
  if (!tools?.length) return false;
  return toolChoice === 'none' || tools.some((tool) => tool.function.strict);
}

/**
 * The grammar of an answer: a thought, if allowed; then tool calls, or text in the requested format. Null if the answer
 * is not constrained: without a format, calls must match their schemas only if they are required or `strict`.
 *
 * @throws InvalidArgumentError for unsupported schemas, unknown tools, and vocabularies without the tokens for tool
 *   calls
 */
export function answerGrammar(
  tokenizer: TokenIds,
  format: AnswerFormat,
  budget = new GrammarBudget(),
): Expression | null {
  const { responseFormat = 'text', toolChoice = 'auto', tools, mayThink, isReasoningOpen } = format;
  const hasTools = (tools?.length ?? 0) > 0;
  if (!hasTools && (toolChoice === 'required' || typeof toolChoice === 'object')) {
    throw new InvalidArgumentError({
      argument: 'toolChoice',
      expected: "'auto' or 'none' without tools",
      received: toolChoice,
    });
  }
  if (!isConstrained(format)) return null;
  const text = textGrammar(responseFormat, budget);
  const calls =
    hasTools && toolChoice !== 'none' ? callsGrammar(tokenizer, tools!, toolChoice, budget) : null;
  const body = bodyGrammar(text, calls, toolChoice);
  if (isReasoningOpen) return sequence(thought(tokenizer, false), body);
  return mayThink ? sequence(optional(thought(tokenizer, true)), body) : body;
}

function textGrammar(format: ResponseFormat, budget: GrammarBudget): Expression {
  if (format === 'text') return ANY_TEXT;
  if (format === 'json') return anyObjectGrammar(JSON_DIALECT);
  return schemaGrammar(format.schema, JSON_DIALECT, {
    budget,
    argument: 'responseFormat.schema',
    isObject: meansObjects(format.schema),
  });
}

/** A schema with properties and no type is meant for an object, though it allows other values. */
function meansObjects(schema: JsonSchema): boolean {
  return (
    typeof schema === 'object' &&
    schema !== null &&
    schema.type === undefined &&
    schema.properties !== undefined
  );
}

function bodyGrammar(text: Expression, calls: Expression | null, choiceOfTool: ToolChoice): Expression {
  if (!calls) return text;
  if (choiceOfTool !== 'auto') return calls;
  // Text may come before calls, unless it must be JSON: then the answer is either JSON or calls.
  return text === ANY_TEXT ? sequence(text, optional(calls)) : choice(text, calls);
}

/** One or more tool calls. */
function callsGrammar(
  tokenizer: TokenIds,
  tools: readonly ToolDefinition[],
  toolChoice: ToolChoice,
  budget: GrammarBudget,
): Expression {
  const dialect = toolCallDialect(idOf(tokenizer, '<|"|>'));
  const named = typeof toolChoice === 'object' ? toolChoice.name : null;
  normalizeTools(tools);
  const chosen = [...tools.entries()].filter(([, tool]) => named === null || tool.function.name === named);
  if (chosen.length === 0) {
    throw new InvalidArgumentError({
      argument: 'toolChoice',
      expected: 'the name of one of the tools',
      received: named,
    });
  }
  const calls = chosen.map(([index, { function: tool }]) =>
    sequence(
      control(idOf(tokenizer, '<|tool_call>')),
      literal(`call:${tool.name}`),
      schemaGrammar(parametersOf(tool.parameters), dialect, {
        budget,
        argument: `tools[${index}].function.parameters`,
        isObject: true,
        // `strict` promises all keywords; calls that are only required ignore the unsupported ones.
        onUnsupported: tool.strict ? refuseUnsupported : () => {},
      }),
      control(idOf(tokenizer, '<tool_call|>')),
    ),
  );
  return named === null ? repeat(choice(...calls), 1) : choice(...calls);
}

/** The parameters of a tool; none if it has no schema. Keywords that are null are left out, as in the prompt. */
function parametersOf(parameters: unknown): JsonSchema {
  return (withoutNulls(parameters) ?? { type: 'object', properties: {} }) as JsonSchema;
}

/** Keywords that take JSON values, including null. */
const VALUES = new Set(['const', 'enum', 'default', 'examples']);

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(([name, inner]) => inner !== null || VALUES.has(name));
  return Object.fromEntries(
    kept.map(([name, inner]) => [name, VALUES.has(name) ? inner : withoutNulls(inner)]),
  );
}

function thought(tokenizer: TokenIds, isOpened: boolean): Expression {
  const close = control(idOf(tokenizer, '<channel|>'));
  const open = isOpened ? [control(idOf(tokenizer, '<|channel>')), literal('thought\n')] : [];
  return sequence(...open, ANY_TEXT, close);
}

function idOf(tokenizer: TokenIds, token: (typeof GRAMMAR_TOKENS)[number]): number {
  const id = tokenizer.idOf(token);
  if (id !== null) return id;
  throw new InvalidArgumentError({
    argument: 'tools',
    expected: `a vocabulary with the token ${token}`,
    received: 'one without it',
    hint: 'Use a checkpoint that was trained for tool calls and thinking',
  });
}
