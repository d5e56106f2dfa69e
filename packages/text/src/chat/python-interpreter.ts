import { Environment, Interpreter, Template } from '@huggingface/jinja';
import { ExactNumber, pythonNumber } from './exact-number.js';

/** A value of the template engine, whose own classes are not exported. */
interface RuntimeValue {
  readonly type: string;
  readonly value: unknown;
  toString(): string;
}

interface Statement {
  readonly type: string;
}

interface Filter extends Statement {
  readonly value?: unknown;
}

/** Internals of the engine's interpreter. The version of the package is fixed, and tests compare with Jinja2. */
interface OpenInterpreter {
  evaluate(statement: Statement, environment: Environment): RuntimeValue;
  evaluateBlock(statements: readonly Statement[], environment: Environment): RuntimeValue;
  applyFilter(operand: RuntimeValue, filter: Filter, environment: Environment): RuntimeValue;
}

const OpenInterpreter = Interpreter as unknown as new (
  environment: Environment,
) => OpenInterpreter & Pick<Interpreter, 'run'>;

/** Names available to every template. Those of the engine are reached through separate templates. */
const GLOBALS: Readonly<Record<string, unknown>> = {
  true: true,
  false: false,
  none: null,
  True: true,
  False: false,
  None: null,
  range: (first: number, end?: number, step = 1) => {
    const [from, to] = end === undefined ? [0, first] : [first, end];
    return Array.from(
      { length: Math.max(0, Math.ceil((to - from) / step)) },
      (_, index) => from + index * step,
    );
  },
  raise_exception: (message: string) => new Template('{{ raise_exception(message) }}').render({ message }),
  strftime_now: (format: string) => new Template('{{ strftime_now(format) }}').render({ format }),
};

/** Statements that print nothing: they evaluate to null without meaning it. */
const SILENT = new Set(['Set', 'Macro', 'Comment']);

/** White space for Python's `str.strip`: not U+FEFF, but the separators \x1c to \x1f and \x85. */
const SPACE = '[\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]';
const OUTER_SPACE = new RegExp(`^${SPACE}+|(?<!${SPACE})${SPACE}+$`, 'g');

/**
 * Renders a template with JSON values as Jinja2 does, even where the engine differs: null and booleans are printed as
 * in Python, numbers digit by digit, `trim` uses Python's white space, and keys are sorted by code points.
 *
 * @throws any error that the template raises
 */
export function renderAsPython(template: Template, values: Readonly<Record<string, unknown>>): string {
  const environment = new Environment();
  for (const [name, value] of Object.entries({ ...GLOBALS, ...values })) {
    if (typeof value === 'function') environment.set(name, value);
    else environment.setVariable(name, runtimeValueOf(value) as Parameters<Environment['setVariable']>[1]);
  }
  return new PythonInterpreter(environment).run(template.parsed).value as string;
}

class PythonInterpreter extends OpenInterpreter {
  override evaluateBlock(statements: readonly Statement[], environment: Environment): RuntimeValue {
    let text = '';
    for (const statement of statements) {
      const value = this.evaluate(statement, environment);
      if (value.type === 'NullValue') text += SILENT.has(statement.type) ? '' : 'None';
      else if (value.type === 'BooleanValue') text += value.value === true ? 'True' : 'False';
      else if (value.type !== 'UndefinedValue') text += value.toString();
    }
    return runtimeValue(text);
  }

  override applyFilter(operand: RuntimeValue, filter: Filter, environment: Environment): RuntimeValue {
    if (filter.value === 'trim' && operand.type === 'StringValue') {
      return runtimeValue((operand.value as string).replace(OUTER_SPACE, ''));
    }
    if (filter.value === 'dictsort' && operand.type === 'ObjectValue') {
      return runtimeValue([], sorted(operand.value as ReadonlyMap<string, RuntimeValue>));
    }
    return super.applyFilter(operand, filter, environment);
  }
}

/** Converts a JSON value into one of the engine's; numbers print as in Python. */
function runtimeValueOf(value: unknown): RuntimeValue {
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof ExactNumber) {
    return numberValue(value);
  }
  if (Array.isArray(value)) return runtimeValue([], value.map(runtimeValueOf));
  if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value).map(([key, item]) => [key, runtimeValueOf(item)] as const);
    return runtimeValue({}, new Map(entries));
  }
  return runtimeValue(value);
}

/** A value of the engine; `content` replaces its content. */
function runtimeValue(plain: unknown, content?: unknown): RuntimeValue {
  const value = new Environment().set('value', plain);
  if (content !== undefined) value.value = content as typeof value.value;
  return value as RuntimeValue;
}

function numberValue(number: number | bigint | ExactNumber): RuntimeValue {
  const text = pythonNumber(number);
  const isWhole = /^-?\d+$/.test(text);
  const near = Number(text);
  // The engine only treats a number with a fraction as a float.
  const value = runtimeValue(isWhole ? Math.trunc(near) : 0.5, near);
  return Object.assign(value, { toString: () => text });
}

/** Pairs in Python's order: by code points, case-insensitively. */
function sorted(entries: ReadonlyMap<string, RuntimeValue>): RuntimeValue[] {
  const pairs = [...entries].map(([key, value]) => ({ key, points: codePoints(key.toLowerCase()), value }));
  pairs.sort((a, b) => comparePoints(a.points, b.points));
  return pairs.map(({ key, value }) => runtimeValue([], [runtimeValue(key), value]));
}

function codePoints(text: string): number[] {
  return Array.from(text, (character) => character.codePointAt(0)!);
}

function comparePoints(a: readonly number[], b: readonly number[]): number {
  const different = a.findIndex((point, index) => point !== b[index]);
  if (different === -1) return a.length - b.length;
  return different < b.length ? a[different]! - b[different]! : 1;
}
