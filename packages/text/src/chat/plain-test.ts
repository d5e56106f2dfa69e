import type { Environment } from '@huggingface/jinja';

/** A node of a parsed template; which fields it has depends on its type. */
interface Expression {
  readonly type: string;
  readonly value?: unknown;
  readonly operator?: { readonly value: string };
  readonly left?: Expression;
  readonly right?: Expression;
  readonly argument?: Expression;
  readonly object?: Expression;
  readonly property?: Expression;
  readonly computed?: boolean;
}

interface Value {
  readonly type: string;
  readonly value: unknown;
}

type Plain = string | number | boolean;

const PLAIN_TYPES = new Set(['StringValue', 'IntegerValue', 'FloatValue', 'BooleanValue']);
const ATTRIBUTE_TYPES = new Set(['ObjectValue', 'NamespaceValue']);

/** Fields of a variable that are known without a value of the engine. */
export interface PlainFields {
  plain(name: string): Plain | undefined;
}

/**
 * The result of a test that compares texts, numbers and booleans, such as `loop.index0 > index and ns.next == ''`. The
 * engine makes ten objects for it. Null for any other test.
 */
export function plainTest(test: Expression, environment: Environment): boolean | null {
  const result = plainOf(test, environment);
  return result === undefined ? null : Boolean(result);
}

/** The value of an expression; undefined if the engine has to evaluate it. */
function plainOf(node: Expression, environment: Environment): Plain | undefined {
  switch (node.type) {
    case 'StringLiteral':
    case 'IntegerLiteral':
      return node.value as Plain;
    case 'Identifier':
      return plain(variable(node, environment));
    case 'MemberExpression':
      return member(node, environment);
    case 'UnaryExpression': {
      const value = node.operator!.value === 'not' ? plainOf(node.argument!, environment) : undefined;
      return value === undefined ? undefined : !value;
    }
    case 'BinaryExpression':
      return binary(node, environment);
    default:
      return undefined;
  }
}

function binary({ operator, left, right }: Expression, environment: Environment): Plain | undefined {
  const a = plainOf(left!, environment);
  if (a === undefined) return undefined;
  if (operator!.value === 'and') return a ? plainOf(right!, environment) : a;
  if (operator!.value === 'or') return a ? a : plainOf(right!, environment);
  const b = plainOf(right!, environment);
  if (typeof a !== typeof b) return undefined;
  if (operator!.value === '==') return a === b;
  if (operator!.value === '!=') return a !== b;
  if (typeof a !== 'number' || typeof b !== 'number') return undefined;
  switch (operator!.value) {
    case '<':
      return a < b;
    case '<=':
      return a <= b;
    case '>':
      return a > b;
    case '>=':
      return a >= b;
    default:
      return undefined;
  }
}

function member({ object, property, computed }: Expression, environment: Environment): Plain | undefined {
  const value = variable(object!, environment);
  if (!value || !ATTRIBUTE_TYPES.has(value.type)) return undefined;
  if (property!.type !== (computed ? 'StringLiteral' : 'Identifier')) return undefined;
  const name = property!.value as string;
  const fields = value.value as ReadonlyMap<string, Value> & Partial<PlainFields>;
  return fields.plain ? fields.plain(name) : plain(fields.get(name));
}

function variable({ type, value }: Expression, environment: Environment): Value | undefined {
  return type === 'Identifier' ? (environment.lookupVariable(value as string) as Value) : undefined;
}

function plain(value: Value | undefined): Plain | undefined {
  return value && PLAIN_TYPES.has(value.type) ? (value.value as Plain) : undefined;
}
