import { InvalidArgumentError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { JSON_DIALECT } from '../dialect.js';
import { schemaGrammar } from './schema-grammar.js';

describe('schemas with malformed keywords', () => {
  it.each<[object, string]>([
    [{ required: { a: 1 } }, '#/required'],
    [{ type: 'object', required: [1] }, '#/required'],
    [{ properties: [] }, '#/properties'],
    [{ properties: { a: 5 } }, '#/properties'],
    [{ enum: 5 }, '#/enum'],
    [{ type: { a: 1 } }, '#/type'],
    [{ items: 'string' }, '#/items'],
    [{ prefixItems: [null] }, '#/prefixItems'],
    [{ anyOf: [5] }, '#/anyOf'],
    [{ allOf: 'x' }, '#/allOf'],
    [{ $ref: '#/%zz' }, '#/$ref'],
    [{ $ref: 5 }, '#/$ref'],
    [{ allOf: [{ $ref: '#/$defs/x' }], $defs: { x: null } }, '#/allOf'],
  ])('%j is refused at %s', (schema, place) => {
    let refusal: unknown;
    try {
      schemaGrammar(schema as never, JSON_DIALECT);
    } catch (error) {
      refusal = error;
    }
    expect(refusal).toBeInstanceOf(InvalidArgumentError);
    expect((refusal as InvalidArgumentError).argument).toContain(`schema ${place}`);
  });
});
