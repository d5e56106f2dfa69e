import { InvalidArgumentError } from '@markbase/core';
import { stringifyExactJson } from './exact-json.js';
import { ExactNumber } from './exact-number.js';
import { QUOTE, QUOTE_MARK, ToolValueReader } from './tool-value-reader.js';

/** A call as the model wrote it. */
export interface ParsedToolCall {
  /** Name of the tool. */
  readonly name: string;
  /** The arguments; numbers may be rounded. */
  readonly arguments: Record<string, unknown>;
  /** The arguments as JSON, with every digit that the model wrote. */
  readonly argumentsJson: string;
  /** True if the text was not quite valid and had to be repaired. */
  readonly isRepaired: boolean;
}

/** Names that need no quotes. */
const BARE_KEY = /^[\p{L}\p{N}_.$@-]+$/u;

/**
 * Reads the text between `<|tool_call>` and `<tool_call|>`, such as `call:get_weather{city:<|"|>Paris<|"|>,days:2}`.
 * Values: strings between quote tokens, numbers, true, false, null, `[a,b]`, `{k:v}`; names may be quoted too. Missing
 * quotes and closing brackets are repaired if only one reading makes sense. Null if the text is not recognisable as a
 * call, or is ambiguous. Time is linear in the length of the text.
 */
export function parseToolCall(text: string): ParsedToolCall | null {
  return readToolCall(text.replaceAll(QUOTE, QUOTE_MARK));
}

/** Reads a call in which `QUOTE_MARK` stands for the quote token. A call without marks may spell the token out. */
export function readToolCall(text: string): ParsedToolCall | null {
  const head = /^\s*(?:call:\s*)?([\w.:-]+)\s*(?=\{)/.exec(text);
  if (head === null) return null;
  const reader = new ToolValueReader(text, head[0].length);
  const value = reader.readAll();
  if (value === null) return text.includes(QUOTE_MARK) || !text.includes(QUOTE) ? null : parseToolCall(text);
  const argumentsJson = stringifyExactJson(value);
  return {
    name: head[1]!,
    arguments: JSON.parse(argumentsJson) as Record<string, unknown>,
    argumentsJson,
    isRepaired: reader.isRepaired,
  };
}

/**
 * Writes a call as the model does: keys in case-insensitive order, strings between quote tokens, names quoted if
 * needed.
 *
 * @throws InvalidArgumentError for a string that contains the text of the quote token, which would end it
 */
export function formatToolCall(name: string, callArguments: Readonly<Record<string, unknown>>): string {
  return `call:${name}${formatValue(callArguments)}`;
}

/** True for a name that needs no quotes in a call. */
export function isBareKey(name: string): boolean {
  return BARE_KEY.test(name);
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' || typeof value === 'bigint') return String(value);
  if (value instanceof ExactNumber) return value.text;
  if (Array.isArray(value)) return `[${value.map(formatValue).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => compareText(a.toLowerCase(), b.toLowerCase()));
  return `{${entries.map(([key, item]) => `${isBareKey(key) ? key : quoted(key)}:${formatValue(item)}`).join(',')}}`;
}

function quoted(text: string): string {
  if (!text.includes(QUOTE)) return `${QUOTE}${text}${QUOTE}`;
  throw new InvalidArgumentError({
    argument: 'arguments',
    expected: `strings without ${QUOTE}, which would end them`,
    received: text,
  });
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
