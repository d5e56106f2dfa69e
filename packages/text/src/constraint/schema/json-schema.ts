/** A JSON Schema: an object of keywords, or true (anything) or false (nothing). */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };
/** The keywords of a schema that is not a boolean. */
export type Keywords = { readonly [keyword: string]: unknown };

/** The kinds of values; integers are numbers. */
export type ValueKind = 'null' | 'boolean' | 'number' | 'string' | 'array' | 'object';
/** All kinds, in the order in which their grammars are tried. */
export const VALUE_KINDS: readonly ValueKind[] = ['null', 'boolean', 'number', 'string', 'array', 'object'];

/** The kind of a value. */
export function kindOf(value: unknown): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  return typeof value as ValueKind;
}

/** True if two JSON values are equal. */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (Array.isArray(a) !== Array.isArray(b)) return false;
  const [left, right] = [Object.keys(a), Object.keys(b)];
  if (left.length !== right.length) return false;
  return left.every(
    (name) =>
      Object.hasOwn(b, name) &&
      isEqual((a as Record<string, unknown>)[name], (b as Record<string, unknown>)[name]),
  );
}
