import type { Keywords } from './json-schema.js';
import { type OnUnsupported, refuseMalformed } from './refusals.js';

const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown) => typeof value === 'string';
const isList = (value: unknown) => Array.isArray(value);
const isSchema = (value: unknown) => typeof value === 'boolean' || isObject(value);
const isNumber = (value: unknown) => typeof value === 'number' && Number.isFinite(value);
const listOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  Array.isArray(value) && value.every(isItem);
const mapOf = (isItem: (value: unknown) => boolean) => (value: unknown) =>
  isObject(value) && Object.values(value as object).every(isItem);

type Shape = readonly [expected: string, isRight: (value: unknown) => boolean];
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const isType = (value: unknown) => TYPES.includes(String(value).toLowerCase());
const TYPE: Shape = [
  `types among ${TYPES}`,
  (value) =>
    isType(value) || (isList(value) && (value as unknown[]).length > 0 && (value as unknown[]).every(isType)),
];
const SCHEMA: Shape = ['a schema', isSchema];
const SCHEMAS: Shape = ['a list of schemas', listOf(isSchema)];
const SCHEMA_MAP: Shape = ['an object of schemas', mapOf(isSchema)];
const COUNT: Shape = ['a count from 0', (value) => isNumber(value) && (value as number) >= 0];
const NUMBER: Shape = ['a number', isNumber];
const NAMES: Shape = ['a list of names', listOf(isText)];
const REFERENCE: Shape = ['a place in the same schema, such as #/$defs/name', isReference];

/** The keywords that grammars support, and what their values must be. */
const SHAPES: Readonly<Record<string, Shape>> = {
  type: TYPE,
  enum: ['a list of values', isList],
  const: ['a value', () => true],
  nullable: ['true or false', () => true],
  properties: SCHEMA_MAP,
  patternProperties: SCHEMA_MAP,
  additionalProperties: SCHEMA,
  unevaluatedProperties: SCHEMA,
  propertyNames: SCHEMA,
  required: NAMES,
  minProperties: COUNT,
  maxProperties: COUNT,
  dependentRequired: ['an object of lists of names', mapOf(listOf(isText))],
  dependentSchemas: SCHEMA_MAP,
  dependencies: [
    'an object of schemas or lists of names',
    mapOf((value) => isSchema(value) || listOf(isText)(value)),
  ],
  items: ['a schema', (value) => isSchema(value) || listOf(isSchema)(value)],
  additionalItems: SCHEMA,
  prefixItems: SCHEMAS,
  unevaluatedItems: SCHEMA,
  contains: SCHEMA,
  minContains: COUNT,
  maxContains: COUNT,
  minItems: COUNT,
  maxItems: COUNT,
  uniqueItems: ['true or false', (value) => typeof value === 'boolean'],
  minLength: COUNT,
  maxLength: COUNT,
  pattern: ['a regular expression', isText],
  format: ['a name of a format', isText],
  minimum: NUMBER,
  maximum: NUMBER,
  exclusiveMinimum: NUMBER,
  exclusiveMaximum: NUMBER,
  multipleOf: ['a number above 0', (value) => isNumber(value) && (value as number) > 0],
  anyOf: SCHEMAS,
  oneOf: SCHEMAS,
  allOf: SCHEMAS,
  not: SCHEMA,
  if: SCHEMA,
  // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
  then: SCHEMA,
  else: SCHEMA,
  $ref: REFERENCE,
  $dynamicRef: REFERENCE,
};

/** Keywords without influence on which values are valid. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  'id',
  '$anchor',
  '$dynamicAnchor',
  '$vocabulary',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  'strict',
  'contentEncoding',
  'contentMediaType',
  'contentSchema',
  'discriminator',
  'externalDocs',
  'xml',
  'enumNames',
  'enumDescriptions',
  'markdownDescription',
]);

/**
 * Checks the values of a schema's keywords before anything relies on them.
 *
 * @throws InvalidArgumentError that names the keyword
 */
export function checkKeywords(schema: unknown, path: string, onUnsupported: OnUnsupported): void {
  if (!isSchema(schema)) refuseMalformed(path, 'an object or a boolean', schema);
  if (typeof schema === 'boolean') return;
  for (const [keyword, value] of Object.entries(schema as Keywords)) {
    if (value === undefined || ANNOTATIONS.has(keyword) || keyword.startsWith('x-')) continue;
    const shape = Object.hasOwn(SHAPES, keyword) ? SHAPES[keyword]! : null;
    if (!shape)
      onUnsupported({ path, keyword, expected: 'a keyword of JSON Schema that a grammar can hold' });
    else if (!shape[1](value)) refuseMalformed(`${path}/${keyword}`, shape[0], value);
  }
}

function isReference(value: unknown): boolean {
  try {
    return isText(value) && decodeURIComponent(value as string) !== '';
  } catch {
    return false;
  }
}
