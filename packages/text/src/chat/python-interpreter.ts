import { Environment, Interpreter, Template } from '@huggingface/jinja';
import { ExactNumber, pythonNumber } from './exact-number.js';
import { type PlainFields, plainTest } from './plain-test.js';

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

interface If extends Statement {
  readonly test: Statement;
  readonly body: readonly Statement[];
  readonly alternate: readonly Statement[];
}

interface For extends Statement {
  readonly loopvar: Filter;
  readonly iterable: Statement;
  readonly body: readonly Statement[];
  readonly defaultBlock: readonly Statement[];
}

/** Internals of the engine's interpreter. The version of the package is fixed, and tests compare with Jinja2. */
interface OpenInterpreter {
  evaluate(statement: Statement, environment: Environment): RuntimeValue;
  evaluateBlock(statements: readonly Statement[], environment: Environment): RuntimeValue;
  evaluateIf(node: If, environment: Environment): RuntimeValue;
  evaluateFor(node: For, environment: Environment): RuntimeValue;
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
    return text === '' ? EMPTY : runtimeValue(text);
  }

  override evaluateIf(node: If, environment: Environment): RuntimeValue {
    const isTrue = plainTest(node.test, environment);
    if (isTrue === null) return super.evaluateIf(node, environment);
    return this.evaluateBlock(isTrue ? node.body : node.alternate, environment);
  }

  /**
   * The engine makes two dozen objects for each iteration. Templates visit all messages for each message, so that this
   * is most of their time.
   */
  override evaluateFor(node: For, environment: Environment): RuntimeValue {
    if (node.iterable.type === 'SelectExpression' || node.loopvar.type !== 'Identifier')
      return super.evaluateFor(node, environment);
    const scope = new Environment(environment);
    const items = itemsOf(this.evaluate(node.iterable, scope));
    if (!items) return super.evaluateFor(node, environment);
    const loop = new Loop(items);
    const loopValue = runtimeValue({}, loop) as Variable;
    let text = '';
    let hasRun = false;
    for (; loop.index < items.length; loop.index++) {
      scope.setVariable('loop', loopValue);
      scope.setVariable(node.loopvar.value as string, items[loop.index] as Variable);
      try {
        text += this.evaluateBlock(node.body, scope).value;
        hasRun = true;
      } catch (error) {
        if (error instanceof BREAK) break;
        if (!(error instanceof CONTINUE)) throw error;
      }
    }
    return hasRun ? runtimeValue(text) : this.evaluateBlock(node.defaultBlock, scope);
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

type Variable = Parameters<Environment['setVariable']>[1];

/** What a loop visits; null for values that the engine refuses. */
function itemsOf(iterable: RuntimeValue): readonly RuntimeValue[] | null {
  if (Array.isArray(iterable.value)) return iterable.value;
  if (iterable.value instanceof Map && iterable.type !== 'NamespaceValue')
    return Array.from(iterable.value.keys(), (key) => runtimeValue(key));
  return null;
}

/** The fields of the variable `loop`, which are made when a template reads them. */
class Loop extends Map<string, RuntimeValue> implements PlainFields {
  index = 0;
  readonly #items: readonly RuntimeValue[];

  constructor(items: readonly RuntimeValue[]) {
    super();
    this.#items = items;
  }

  plain(name: string): number | boolean | undefined {
    const { index } = this;
    const { length } = this.#items;
    switch (name) {
      case 'index':
        return index + 1;
      case 'index0':
        return index;
      case 'revindex':
        return length - index;
      case 'revindex0':
        return length - index - 1;
      case 'first':
        return index === 0;
      case 'last':
        return index === length - 1;
      case 'length':
        return length;
      default:
        return undefined;
    }
  }

  override get(name: string): RuntimeValue | undefined {
    if (name === 'previtem') return this.#items[this.index - 1];
    if (name === 'nextitem') return this.#items[this.index + 1];
    const field = this.plain(name);
    return field === undefined ? undefined : runtimeValue(field);
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

const EMPTY = runtimeValue('');
/** What the engine throws to leave a loop or an iteration. */
const [BREAK, CONTINUE] = ['Break', 'Continue'].map(thrownBy) as [ErrorConstructor, ErrorConstructor];

function thrownBy(type: string): unknown {
  const environment = new Environment();
  try {
    return new OpenInterpreter(environment).evaluate({ type }, environment);
  } catch (error) {
    return (error as Error).constructor;
  }
}
