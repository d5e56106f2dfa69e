import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { Automaton } from '../automaton.js';
import { JSON_DIALECT } from '../dialect.js';
import { Matcher, type Place } from '../matcher.js';
import type { JsonSchema } from './json-schema.js';
import { schemaGrammar } from './schema-grammar.js';

/** True if the grammar of a schema contains this text. */
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
    // Keywords without a type apply to the values that they concern.
    [{ exclusiveMaximum: 3 }, ['2.5', '"x"', '[4]'], ['3', '17']],
    [{ maxItems: 2 }, ['[1,2]', '{"a":1}', '7'], ['[1,2,3]']],
    // Keywords next to a reference also apply.
    [
      { $ref: '#/$defs/s', maxLength: 3, $defs: { s: { type: 'string', minLength: 2 } } },
      ['"ab"', '"abc"'],
      ['"a"', '"abcd"', '1'],
    ],
    [
      {
        $defs: { o: { type: 'object', required: ['a'] } },
        $ref: '#/$defs/o',
        properties: { a: { const: 1 } },
      },
      ['{"a":1}'],
      ['{}', '{"a":2}'],
    ],
    [
      { type: 'array', items: { type: 'integer' }, allOf: [{ items: { minimum: 5 } }] },
      ['[5,6]'],
      ['[4]', '["x"]'],
    ],
    // A property that two schemas name must be valid for both.
    [
      {
        type: 'object',
        required: ['a'],
        allOf: [{ properties: { a: { type: 'string' } } }, { properties: { a: { minLength: 2 } } }],
      },
      ['{"a":"xy"}'],
      ['{"a":"x"}', '{"a":7}'],
    ],
    [
      { type: 'object', required: ['a'], additionalProperties: { type: 'integer' } },
      ['{"a":1}', '{"a":1,"b":2}'],
      ['{"a":"x"}', '{"a":1,"b":"x"}'],
    ],
    // Exactly one of the branches.
    [{ oneOf: [{ type: 'integer' }, { minimum: 2 }] }, ['1', '2.5', '"x"'], ['3', '1.5']],
    [
      { type: 'string', format: 'date', pattern: '^2024' },
      ['"2024-02-29"'],
      ['"2023-02-28"', '"2024-02-30"', '"2024"'],
    ],
    [{ type: 'string', format: 'email', maxLength: 7 }, ['"a@b.cd"'], ['"ab@cd.efg"', '"abc"']],
    [
      { type: 'string', format: 'ipv6' },
      ['"::1"', '"2001:db8::ff00:42:8329"', '"::ffff:1.2.3.4"'],
      ['"1::2::3"', '"12345::"'],
    ],
    [{ type: 'string', format: 'uri' }, ['"https://a.example/b?c#d"', '"urn:x:y"'], ['"//a"', '"a b:c"']],
    [{ type: 'string', pattern: '^\\S+\\s\\w$' }, ['"a\u00a0b"', '"ab _"'], ['"a b c"', '"a b\u0301"']],
    [{ type: 'string', pattern: '^(?=.*\\d)(?!.*x)\\w{2,}$' }, ['"a1"'], ['"ab"', '"x1"', '"1"']],
    [{ type: 'string', pattern: '\\bab\\b' }, ['"ab"', '"x ab."'], ['"xab"', '"ab_"']],
    [{ type: 'string', pattern: '^\\p{Lu}+$' }, ['"ÄÖ"'], ['"ä"', '""']],
    [{ type: 'integer', multipleOf: 250, minimum: -500 }, ['-250', '0', '1000'], ['-750', '100', '1']],
    [{ type: 'number', multipleOf: 0.01 }, ['0.07', '1.10', '3'], ['0.001', '0.015']],
    [
      { type: 'object', patternProperties: { '^x-': { type: 'integer' } }, additionalProperties: false },
      ['{}', '{"x-a":1}'],
      ['{"y":1}', '{"x-a":"b"}'],
    ],
    [{ type: 'object', propertyNames: { enum: ['a', 'b'] } }, ['{"a":1,"b":2}', '{}'], ['{"c":1}']],
    [{ type: 'object', minProperties: 2 }, ['{"foo":1,"bar":2}'], ['{"foo":1}', '{"a":1,"a":2}', '{}']],
    [{ type: 'array', items: { enum: [1, 2] }, uniqueItems: true }, ['[2,1]', '[]'], ['[1,1]', '[1,2,1]']],
    [{ type: 'array', contains: { const: 7 }, maxContains: 1 }, ['[7]', '[1,7,"x"]'], ['[]', '[7,7]']],
    [{ not: { enum: ['a', 1, [2]] } }, ['"b"', '2', '[1]', '[2,2]'], ['"a"', '1', '[2]']],
    [
      {
        type: 'object',
        properties: { kind: { enum: ['a', 'b'] }, n: {} },
        required: ['kind'],
        if: { properties: { kind: { const: 'a' } } },
        // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
        then: { required: ['n'], properties: { n: { type: 'integer' } } },
        else: { properties: { n: { type: 'string' } } },
      },
      ['{"kind":"a","n":1}', '{"kind":"b"}', '{"kind":"b","n":"x"}'],
      ['{"kind":"a"}', '{"kind":"a","n":"x"}', '{"kind":"b","n":1}'],
    ],
    [
      { type: 'object', properties: { a: {}, b: {} }, dependentRequired: { a: ['b'] } },
      ['{}', '{"b":1}', '{"a":1,"b":1}'],
      ['{"a":1}'],
    ],
    [
      {
        allOf: [{ properties: { a: {} } }, { properties: { b: {} } }],
        type: 'object',
        unevaluatedProperties: false,
      },
      ['{"a":1,"b":2}', '{}'],
      ['{"c":1}'],
    ],
  ])('contains the texts of %j', (schema, good, bad) => {
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
    [{ type: 'array', uniqueItems: true }, '#/uniqueItems'],
    [{ type: 'string', format: 'regex' }, '#/format'],
    [{ properties: { a: { maxLenght: 3 } } }, '#/properties/a/maxLenght'],
    [{ properties: { a: { type: 'string', pattern: '^.*[a-z].{300}$' } } }, '#/properties/a/pattern'],
    [{ type: 'string', maxLength: 1e7 }, '#/maxLength'],
    [
      {
        allOf: Array.from({ length: 30 }, (_, i) => ({
          anyOf: [{ required: [`a${i}`] }, { required: [`b${i}`] }],
        })),
      },
      'ways',
    ],
    [3 as unknown as JsonSchema, 'an object or a boolean'],
  ])('refuses %j and names the place', (schema, where) => {
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

  it('has one state for all ways to read nested arrays', () => {
    let schema: JsonSchema = { type: 'integer' };
    for (let depth = 0; depth < 16; depth++) {
      const items: JsonSchema = schema;
      schema = {
        anyOf: [
          { type: 'array', items },
          { type: 'array', items, minItems: 1 },
        ],
      };
    }
    expect(accepts(schema, `${'['.repeat(16)}1${']'.repeat(16)}`)).toBe(true);
  });

  it('compiles a schema once, however many references lead to it', () => {
    const $defs: Record<string, object> = { d30: { type: 'string' } };
    for (let level = 0; level < 30; level++) {
      const next = { $ref: `#/$defs/d${level + 1}` };
      $defs[`d${level}`] = { anyOf: [next, next] };
    }
    const automaton = Automaton.build(schemaGrammar({ $ref: '#/$defs/d0', $defs }, JSON_DIALECT));
    expect(automaton.stateCount).toBeLessThan(20);
  });

  it('stays small with many optional properties', () => {
    const properties = Object.fromEntries(
      Array.from({ length: 200 }, (_, i) => [`p${i}`, { type: 'boolean' }]),
    );
    const automaton = Automaton.build(schemaGrammar({ type: 'object', properties }, JSON_DIALECT));
    expect(automaton.stateCount).toBeLessThan(40_000);
    expect(accepts({ type: 'object', properties }, '{"p3":true,"p199":false}')).toBe(true);
  });
});
