import { ExactNumber } from '@markbase/text';
import { exactValue } from '../http/exact-value.js';
import type { ServerLimits } from '../server-options.js';
import { badParameter } from './request-error.js';

type CountLimits = Pick<ServerLimits, 'messages' | 'parts' | 'tools' | 'schemaValues'>;
type Fields = Readonly<Record<string, unknown>>;

/** Parameters that hold JSON schemas, besides those of tools. */
const SCHEMA_PATHS = [
  'response_format.json_schema.schema',
  'text.format.schema',
  'output_config.format.schema',
];
/** Parameters with their own checks. */
const OWN_CHECKS = new Set(['messages', 'input', 'tools', 'prompt']);

/**
 * Checks the number of messages, parts, tools and schema values of a body, before anything else is done with it.
 *
 * @throws RequestError (400) that names the parameter and the limit
 */
export function checkCounts(body: unknown, limits: CountLimits): void {
  if (!isObject(body)) return;
  for (const key of ['messages', 'input']) {
    const items = body[key];
    if (!Array.isArray(items)) continue;
    checkCount(key, items.length, 'messages', limits);
    checkParts(key, items, limits);
  }
  const { tools } = body;
  if (Array.isArray(tools)) {
    checkCount('tools', tools.length, 'tools', limits);
    for (const [index, tool] of tools.entries()) checkTool(`tools[${index}]`, tool, limits);
  }
  for (const path of SCHEMA_PATHS) {
    const schema = path
      .split('.')
      .reduce<unknown>((value, key) => (isObject(value) ? value[key] : null), body);
    checkSchema(path, schema, limits);
  }
  for (const [key, value] of Object.entries(body)) {
    if (!OWN_CHECKS.has(key)) checkCount(key, sizeOf(value), 'parts', limits);
  }
}

/** Counts the parts, calls and similar entries of all messages together. */
function checkParts(name: string, messages: readonly unknown[], limits: CountLimits): void {
  let count = 0;
  for (const [index, message] of messages.entries()) {
    for (const [key, list] of entriesOf(message)) {
      count += sizeOf(list);
      checkCount(`${name}[${index}].${key}`, count, 'parts', limits);
      if (!Array.isArray(list)) continue;
      for (const part of list) for (const [, inner] of entriesOf(part)) count += sizeOf(inner);
      checkCount(`${name}[${index}].${key}`, count, 'parts', limits);
    }
  }
}

function checkTool(where: string, tool: unknown, limits: CountLimits): void {
  if (!isObject(tool)) return;
  checkSchema(`${where}.parameters`, tool.parameters, limits);
  checkSchema(`${where}.input_schema`, tool.input_schema, limits);
  if (isObject(tool.function)) checkSchema(`${where}.function.parameters`, tool.function.parameters, limits);
}

function checkSchema(where: string, schema: unknown, limits: CountLimits): void {
  let count = 0;
  const stack: unknown[] = [schema];
  while (stack.length > 0) {
    const value = stack.pop();
    count++;
    if (typeof value !== 'object' || value === null) continue;
    checkDigits(where, value);
    for (const child of Object.values(value)) stack.push(child);
    checkCount(where, count + stack.length, 'schemaValues', limits);
  }
}

/** Listed values reach prompts and answers; those whose digits JavaScript would change are refused. */
function checkDigits(where: string, schema: object): void {
  const written: Fields = exactValue(schema) as Fields;
  for (const key of ['enum', 'const']) {
    for (const item of [written[key]].flat()) {
      if (!(item instanceof ExactNumber) || isKept(item.text)) continue;
      const param = `${where}.${key}`;
      const message = `Invalid value for '${param}': the digits of ${item.text} would be lost. Send it as a string`;
      throw badParameter(param, message, 'invalid_value');
    }
  }
}

/** Whether a JavaScript number has the value of an integer; decimals are accepted as the nearest number. */
function isKept(text: string): boolean {
  const value = Number(text);
  return Number.isFinite(value) && (!/^-?\d+$/.test(text) || BigInt(text) === BigInt(value));
}

function checkCount(param: string, count: number, limit: keyof CountLimits, limits: CountLimits): void {
  if (count <= limits[limit]) return;
  const what = { messages: 'messages', parts: 'parts and entries', tools: 'tools', schemaValues: 'values' }[
    limit
  ];
  const message = `Invalid value for '${param}': more than ${limits[limit]} ${what}. Send fewer, or raise limits.${limit}`;
  throw badParameter(param, message, 'too_many_items');
}

function entriesOf(value: unknown): [string, unknown][] {
  return isObject(value) ? Object.entries(value) : [];
}

/** Number of entries of a list or an object. */
function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isObject(value) ? Object.keys(value).length : 0;
}

function isObject(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
