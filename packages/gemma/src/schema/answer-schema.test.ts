import { expect, it } from 'vitest';
import { z } from 'zod';
import { checkedValue, jsonSchemaOf } from './answer-schema.js';

it('reads the JSON Schema of zod, and passes a JSON Schema on', () => {
  const schema = z.object({ name: z.string().default('nobody'), age: z.number() });
  expect(jsonSchemaOf(schema, 'schema')).toMatchObject({
    type: 'object',
    properties: { name: { type: 'string' }, age: { type: 'number' } },
    required: ['age'],
  });
  expect(jsonSchemaOf(true, 'schema')).toBe(true);
});

it('refuses a library without JSON Schemas', () => {
  const schema = { '~standard': { vendor: 'other', validate: () => ({ value: 1 }) } };
  expect(() => jsonSchemaOf(schema, 'tools[0].parameters')).toThrow(
    expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'tools[0].parameters' }),
  );
});

it('checks values, with the path of every problem', async () => {
  const schema = z.object({ a: z.object({ b: z.number() }), c: z.string().default('x') });
  expect(await checkedValue(schema, { a: { b: 1 } })).toEqual({ value: { a: { b: 1 }, c: 'x' } });
  const wrong = await checkedValue(schema, { a: { b: '1' } });
  expect(wrong).toEqual({ problem: expect.stringMatching(/^a\.b: /) });
  expect(await checkedValue({ type: 'object' }, 5)).toEqual({ value: 5 });
  expect(await checkedValue(undefined, 5)).toEqual({ value: 5 });
});
