import type { z } from 'zod';
import { badParameter } from './request-error.js';

type Issue = z.core.$ZodIssue;

/**
 * Checks the body of a request. Unknown keys are refused, so that no parameter is silently ignored.
 *
 * Null counts as absent.
 *
 * @throws RequestError (400) that names the parameter
 */
export function parseRequest<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  const result = schema.safeParse(withoutNulls(body));
  if (result.success) return result.data;
  throw errorOf(deepest(result.error.issues[0]!, []));
}

/** Fields that are passed on unchanged, in which null has a meaning. */
const FREE_FIELDS = new Set(['parameters', 'schema', 'input_schema']);

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).filter(([, item]) => item !== null);
  return Object.fromEntries(
    entries.map(([name, item]) => [name, isFree(name, item) ? item : withoutNulls(item)]),
  );
}

/** The `input` of a call is an object; the `input` of a response is text or a list of items. */
function isFree(name: string, value: unknown): boolean {
  return FREE_FIELDS.has(name) || (name === 'input' && !Array.isArray(value));
}

interface Located {
  readonly issue: Issue;
  readonly path: readonly PropertyKey[];
}

/** For a union, the issue of the alternative that matched the value furthest. */
function deepest(issue: Issue, prefix: readonly PropertyKey[]): Located {
  const path = [...prefix, ...issue.path];
  if (issue.code !== 'invalid_union') return { issue, path };
  const inner = issue.errors.flatMap((issues) => (issues[0] ? [deepest(issues[0], path)] : []));
  const best = inner.reduce<Located | null>((a, b) => (a && a.path.length >= b.path.length ? a : b), null);
  return best && best.path.length > path.length ? best : { issue, path };
}

function errorOf({ issue, path }: Located): Error {
  const param = nameOf(path);
  if (issue.code === 'unrecognized_keys') {
    const name = nameOf([...path, issue.keys[0]!]);
    return badParameter(name, `Unsupported parameter: '${name}'`, 'unsupported_parameter');
  }
  if (
    issue.code === 'invalid_type' &&
    issue.input === undefined &&
    /received undefined/.test(issue.message)
  ) {
    return badParameter(param, `Missing required parameter: '${param}'`, 'missing_required_parameter');
  }
  const shown = param === '' ? 'the body' : `'${param}'`;
  return badParameter(param || null, `Invalid value for ${shown}: ${issue.message}`, 'invalid_value');
}

/** The path as clients write it, such as `messages[0].content`. */
function nameOf(path: readonly PropertyKey[]): string {
  return path
    .map((key, index) => (typeof key === 'number' ? `[${key}]` : `${index > 0 ? '.' : ''}${String(key)}`))
    .join('');
}
