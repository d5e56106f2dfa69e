import { QUOTE, ToolValueReader } from './tool-value-reader.js';

/** A call as the model wrote it. */
export interface ParsedToolCall {
  readonly name: string;
  readonly arguments: Record<string, unknown>;
  /** True if the text was not quite valid and had to be repaired. */
  readonly isRepaired: boolean;
}

/**
 * Reads the text between `<|tool_call>` and `<tool_call|>`, such as `call:get_weather{city:<|"|>Paris<|"|>,days:2}`.
 * Values: strings between quote tokens, numbers, true, false, null, `[a,b]`, `{k:v}`. Missing quotes and missing
 * closing brackets are repaired. Null if the text is not recognisable as a call. Time is linear in the length of the
 * text.
 */
export function parseToolCall(text: string): ParsedToolCall | null {
  const head = /^\s*(?:call:\s*)?([\w.:-]+)\s*(?=\{)/.exec(text);
  if (head === null) return null;
  const reader = new ToolValueReader(text, head[0].length);
  const value = reader.readAll();
  if (value === null) return null;
  return { name: head[1]!, arguments: value, isRepaired: reader.isRepaired };
}

/** Writes a call as the model does: keys in case-insensitive order, strings between quote tokens. */
export function formatToolCall(name: string, callArguments: Readonly<Record<string, unknown>>): string {
  return `call:${name}${formatValue(callArguments)}`;
}

function formatValue(value: unknown): string {
  if (typeof value === 'string') return `${QUOTE}${value}${QUOTE}`;
  if (Array.isArray(value)) return `[${value.map(formatValue).join(',')}]`;
  if (typeof value !== 'object' || value === null) return String(value ?? null);
  const entries = Object.entries(value).filter(([, item]) => item !== undefined);
  entries.sort(([a], [b]) => compareText(a.toLowerCase(), b.toLowerCase()));
  return `{${entries.map(([key, item]) => `${key}:${formatValue(item)}`).join(',')}}`;
}

function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
