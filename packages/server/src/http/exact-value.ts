import { ExactNumber } from '@markbase/text';

/** Maps objects of bodies, with numbers as JavaScript rounds them, to what the client wrote. */
const exactValues = new WeakMap<object, object>();

/** A body with plain numbers instead of ExactNumbers, for checking schemas. `exactValue` returns the original. */
export function plainBody(value: unknown): unknown {
  if (value instanceof ExactNumber) return Number(value.text);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]) => [key, plainBody(item), item] as const);
  if (entries.every(([, plain, item]) => Object.is(plain, item))) return value;
  const values = entries.map(([key, plain]) => [key, plain] as const);
  const plain: object = Array.isArray(value) ? values.map(([, item]) => item) : Object.fromEntries(values);
  exactValues.set(plain, value);
  return plain;
}

/** An object of a body as the client wrote it, with ExactNumbers. */
export function exactValue<Value extends object>(plain: Value): Value {
  return (exactValues.get(plain) as Value | undefined) ?? plain;
}
