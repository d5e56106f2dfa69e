import { describe, expect, it } from 'vitest';
import { checkCounts } from './check-counts.js';

const limits = { messages: 4, parts: 8, tools: 2, schemaValues: 10 };
const errorOf = (body: unknown) => {
  try {
    checkCounts(body, limits);
    return null;
  } catch (error) {
    return error;
  }
};
const times = (count: number, value: unknown) => Array.from({ length: count }, () => value);
const schema = { type: 'object', enum: times(9, 'a') };

describe('checkCounts', () => {
  it('accepts any body within the limits', () => {
    const message = { role: 'user', content: times(2, { type: 'text', text: 'a' }) };
    for (const body of [
      null,
      [],
      'text',
      { messages: 'text', tools: null },
      { messages: times(4, message), prompt: times(100, 1), tools: [{}, null] },
      { input: times(4, 0), text: { format: { schema: { enum: times(8, 'a') } } } },
    ]) {
      expect(errorOf(body), JSON.stringify(body)).toBeNull();
    }
  });

  it.each<[unknown, string, string]>([
    [{ messages: times(5, 0) }, 'messages', 'limits.messages'],
    [{ input: times(5, {}) }, 'input', 'limits.messages'],
    [{ messages: times(3, { content: times(3, 0) }) }, 'messages[2].content', 'limits.parts'],
    [{ messages: [{ content: [{ content: times(9, 0) }] }] }, 'messages[0].content', 'limits.parts'],
    [{ tools: times(3, {}) }, 'tools', 'limits.tools'],
    [
      { tools: [{ function: { parameters: schema } }] },
      'tools[0].function.parameters',
      'limits.schemaValues',
    ],
    [{ tools: [{ input_schema: schema }] }, 'tools[0].input_schema', 'limits.schemaValues'],
    [
      { response_format: { json_schema: { schema } } },
      'response_format.json_schema.schema',
      'limits.schemaValues',
    ],
    [{ stop: times(9, 'a') }, 'stop', 'limits.parts'],
    [{ logit_bias: Object.fromEntries(times(9, 0).map((_, id) => [id, 1])) }, 'logit_bias', 'limits.parts'],
  ])('refuses %j and names %s', (body, param, limit) => {
    expect(errorOf(body)).toMatchObject({ status: 400, apiCode: 'too_many_items', param });
    expect(String(errorOf(body))).toContain(limit);
  });
});
