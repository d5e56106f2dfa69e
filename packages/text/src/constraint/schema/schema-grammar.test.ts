import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { Automaton } from '../automaton.js';
import { JSON_DIALECT } from '../dialect.js';
import { Matcher, type Place } from '../matcher.js';
import type { JsonSchema } from './json-schema.js';
import { schemaGrammar } from './schema-grammar.js';

/** True when the grammar of a schema has this text. */
function accepts(schema: JsonSchema, text: string): boolean {
  const matcher = new Matcher(Automaton.build(schemaGrammar(schema, JSON_DIALECT)));
  let place: Place | null = matcher.start;
  for (const byte of new TextEncoder().encode(text)) {
    place = place && matcher.advance(place, byte);
  }
  return place !== null && matcher.isEnd(place);
}

const person = {
  type: 'object',
  properties: {
    name: { type: 'string' },
    age: { type: 'integer', minimum: 0, maximum: 150 },
    tags: { type: 'array', items: { enum: ['a', 'b'] } },
  },
  required: ['name', 'age'],
};
const tree: JsonSchema = {
  $ref: '#/$defs/node',
  $defs: {
    node: {
      type: 'object',
      properties: {
        value: { type: 'number' },
        next: { anyOf: [{ $ref: '#/$defs/node' }, { type: 'null' }] },
      },
      required: ['value', 'next'],
    },
  },
};

describe('schemaGrammar', () => {
  it.each<[JsonSchema, string[], string[]]>([
    [
      person,
      ['{"name":"Ö\\n","age":0}', '{"name": "", "age": 150, "tags": ["a", "b"]}'],
      ['{"name":"x"}', '{"name":"x","age":151}', '{"age":1,"name":"x"}', '{"name":"x","age":01}'],
    ],
    [tree, ['{"value":1.5e3,"next":{"value":-2,"next":null}}'], ['{"value":1}', '{"value":1,"next":{}}']],
    [
      { type: 'integer', minimum: -12, maximum: 305 },
      ['-12', '-9', '0', '99', '305'],
      ['-13', '306', '1.0', '-0'],
    ],
    [{ type: 'integer', exclusiveMinimum: 9, maximum: 1000 }, ['10', '999', '1000'], ['9', '1001', '0999']],
    [{ type: 'integer', minimum: 98 }, ['98', '99', '100', '12345'], ['97', '9']],
    [{ type: 'number', minimum: 0, maximum: 1 }, ['0', '1', '0.25'], ['1.5', '-0.1']],
    [{ type: 'number', exclusiveMinimum: 0, exclusiveMaximum: 1 }, ['0.5'], ['0', '1', '0.0']],
    [{ type: 'number', minimum: -1.5, maximum: 2 }, ['-1.5', '-0.25', '1.99', '2'], ['2.1', '-1.6']],
    [{ type: 'string', minLength: 2, maxLength: 3 }, ['"ab"', '"😀é\\u00e9"'], ['"a"', '"abcd"']],
    [
      { type: 'string', pattern: '^[A-Z]{2}-\\d+(x|yz)?$' },
      ['"AB-12"', '"QZ-0yz"'],
      ['"A-1"', '"AB-1y"', '"xAB-1"'],
    ],
    [{ type: 'string', pattern: 'b+"' }, ['"aab\\"c"'], ['"ab"', '"ab"c"']],
    [{ type: 'string', pattern: '^[^a-z]*$' }, ['"ÄÖ 😀\\n"', '""'], ['"a"']],
    [{ type: 'string', format: 'date' }, ['"2026-11-28"'], ['"2026-13-01"', '"26-1-1"']],
    [{ type: 'string', format: 'uuid' }, ['"123e4567-e89b-12d3-a456-426614174000"'], ['"123"']],
    [{ enum: ['x', 3, null, { a: [1] }] }, ['"x"', '3', 'null', '{"a":[1]}'], ['"y"', '4', '{}']],
    [{ const: 'a"b' }, ['"a\\"b"'], ['"a"b"']],
    [
      { type: 'array', items: { type: 'boolean' }, minItems: 1, maxItems: 2 },
      ['[true]', '[true, false]'],
      ['[]', '[true,false,true]', '[true,]'],
    ],
    [
      { type: 'array', prefixItems: [{ const: 1 }, { const: 2 }], items: { const: 3 } },
      ['[]', '[1]', '[1,2]', '[1,2,3,3]'],
      ['[2]', '[1,2,4]'],
    ],
    [
      { type: 'object', additionalProperties: { type: 'integer' } },
      ['{}', '{"x": 1, "y": 2}'],
      ['{"x":"1"}'],
    ],
    [{ type: ['string', 'null'] }, ['null', '"s"'], ['1']],
    [{ type: 'string', nullable: true }, ['null', '"s"'], ['1']],
    [
      {
        allOf: [
          { type: 'object', properties: { a: { const: 1 } }, required: ['a'] },
          { properties: { b: { const: 2 } } },
        ],
      },
      ['{"a":1}', '{"a":1,"b":2}'],
      ['{"b":2}'],
    ],
    [
      {
        type: 'object',
        anyOf: [
          { properties: { a: {} }, required: ['a'] },
          { properties: { b: {} }, required: ['b'] },
        ],
      },
      ['{"a":[1,{"q":""}]}', '{"b":null}'],
      ['{}'],
    ],
    [{ type: 'object', required: ['z'] }, ['{"z":{}}'], ['{}']],
    [true, ['{"a": [null, true, 1.5e-3]}', '"x"', '[]'], ['{a:1}', '01', '']],
  ])('has the texts of %j', (schema, good, bad) => {
    for (const text of good) expect.soft(accepts(schema, text), text).toBe(true);
    for (const text of bad) expect.soft(accepts(schema, text), text).toBe(false);
    for (const text of good) expect(() => JSON.parse(text)).not.toThrow();
  });

  it.each<[JsonSchema, string]>([
    [{ type: 'object', properties: { a: { multipleOf: 1.23456789 } } }, '#/properties/a/multipleOf'],
    [{ type: 'objekt' }, '#/type'],
    [{ $ref: '#/$defs/none' }, '#/$ref'],
    [{ $ref: '#' }, 'references'],
    [{ not: {} }, 'no finite value'],
    [{ type: 'string', pattern: '(?=a)b' }, 'pattern'],
    [{ type: 'string', maxLength: -1 }, '#/maxLength'],
    [3 as unknown as JsonSchema, 'an object or a boolean'],
  ])('refuses %j and says where', (schema, where) => {
    const compile = () => Automaton.build(schemaGrammar(schema, JSON_DIALECT));
    expect(compile).toThrow(InvalidArgumentError);
    expect(compile).toThrow(where);
  });

  it.each<JsonSchema>([
    false,
    { type: 'integer', minimum: 3, maximum: 2 },
    {
      $ref: '#/$defs/a',
      $defs: { a: { type: 'object', properties: { a: { $ref: '#/$defs/a' } }, required: ['a'] } },
    },
  ])('refuses %j, which no value satisfies', (schema) => {
    expect(() => Automaton.build(schemaGrammar(schema, JSON_DIALECT))).toThrow('no finite value');
  });

  it('stays small with many optional properties', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`p${i}`, { type: 'boolean' }]),
    );
    const automaton = Automaton.build(schemaGrammar({ type: 'object', properties }, JSON_DIALECT));
    expect(automaton.states.length).toBeLessThan(40_000);
    expect(accepts({ type: 'object', properties }, '{"p3":true,"p199":false}')).toBe(true);
  });
});
