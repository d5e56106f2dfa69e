import { InvalidArgumentError } from '@markbase/core';

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown) => typeof value === 'string';
const isList = (value: unknown) => Array.isArray(value);
const isSchema = (value: unknown) => typeof value === 'boolean' || isObject(value);
const listOf = (isItem: (value: unknown) => boolean, value: unknown) =>
  Array.isArray(value) && value.every(isItem);

/** The required shape of each keyword's value. */
const SHAPES: Readonly<Record<string, readonly [expected: string, isRight: (value: unknown) => boolean]>> = {
  type: ['a type name or a list of type names', (value) => isText(value) || listOf(isText, value)],
  enum: ['a list of values', isList],
  required: ['a list of names', (value) => listOf(isText, value)],
  properties: [
    'an object of schemas',
    (value) => isObject(value) && Object.values(value as object).every(isSchema),
  ],
  additionalProperties: ['a schema', isSchema],
  items: ['a schema', isSchema],
  prefixItems: ['a list of schemas', (value) => listOf(isSchema, value)],
  anyOf: ['a list of schemas', (value) => listOf(isSchema, value)],
  oneOf: ['a list of schemas', (value) => listOf(isSchema, value)],
  allOf: ['a list of schemas', (value) => listOf(isSchema, value)],
  $ref: ['a reference inside the same schema, such as #/$defs/name', isReference],
};

/**
 * Checks the shape of a schema's keywords before anything relies on it. Their meaning is checked where they are
 * compiled.
 *
 * @throws InvalidArgumentError that names the keyword
 */
export function checkKeywords(schema: unknown, path: string): void {
  const refuse = (place: string, expected: string, received: unknown): never => {
    throw new InvalidArgumentError({ argument: `schema ${place}`, expected, received });
  };
  if (!isSchema(schema)) refuse(path, 'an object or a boolean', schema);
  for (const [keyword, value] of Object.entries(schema as object)) {
    const shape = Object.hasOwn(SHAPES, keyword) ? SHAPES[keyword] : undefined;
    if (shape && value !== undefined && !shape[1](value)) refuse(`${path}/${keyword}`, shape[0], value);
  }
}

function isReference(value: unknown): boolean {
  try {
    return isText(value) && decodeURIComponent(value as string) !== '';
  } catch {
    return false;
  }
}
