import { describe, expect, it } from 'vitest';
import { describeSchema } from './describe-schema.js';

describe('describeSchema', () => {
  it('says which answers a schema accepts', async () => {
    const schema = { type: 'object', properties: { a: { multipleOf: 3, type: 'integer' } }, required: ['a'] };
    const description = await describeSchema(schema, { answers: ['{"a":9}', '{"a":8}', 'x'] });
    expect(description).toMatchObject({
      supported: true,
      unsupported: [],
      reason: null,
      accepted: [true, false, false],
    });
    expect(description.states).toBeGreaterThan(0);
  });

  it('names all keywords that cannot be enforced', async () => {
    const schema = { properties: { a: { format: 'regex' }, b: { uniqueItems: true } }, maxLenght: 1 };
    const description = await describeSchema(schema, { answers: ['{}'] });
    expect(description).toMatchObject({ supported: false, states: null, accepted: [false] });
    expect(description.unsupported).toEqual([
      { path: '#', keyword: 'maxLenght' },
      { path: '#/properties/a', keyword: 'format' },
      { path: '#/properties/b', keyword: 'uniqueItems' },
    ]);
  });

  it('reports the part of a schema that is too large', async () => {
    const schema = { items: { type: 'string', maxLength: 500 } };
    const description = await describeSchema(schema, { maxStates: 100 });
    expect(description.unsupported).toEqual([{ path: '#/items', keyword: 'maxLength' }]);
    expect(description.reason).toContain('at most 100 states');
  });

  it('stops on abort', async () => {
    await expect(describeSchema(true, { signal: AbortSignal.abort('enough') })).rejects.toBe('enough');
  });
});
