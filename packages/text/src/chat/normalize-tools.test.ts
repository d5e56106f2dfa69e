import { describe, expect, it } from 'vitest';
import type { ToolDefinition } from './chat-message.js';
import { normalizeTools } from './normalize-tools.js';

function parametersOf(parameters: Record<string, unknown>): unknown {
  const tools = normalizeTools([{ type: 'function', function: { name: 'f', parameters } }]);
  return (tools![0] as { function: { parameters: unknown } }).function.parameters;
}

/** The normalised schema of one property. */
function property(schema: unknown, root: Record<string, unknown> = {}): unknown {
  const parameters = parametersOf({ properties: { p: schema }, ...root });
  return (parameters as { properties: { p: unknown } }).properties.p;
}

describe('normalizeTools', () => {
  it('treats an empty list as no tools', () => {
    expect([normalizeTools(undefined), normalizeTools(null), normalizeTools([])]).toEqual([null, null, null]);
  });

  it('fills in what the template needs', () => {
    expect(
      normalizeTools([{ type: 'function', function: { name: 'f', description: null, strict: true } }]),
    ).toEqual([
      {
        type: 'function',
        function: { name: 'f', description: '' },
      },
    ]);
    expect(parametersOf({})).toEqual({ type: 'object', properties: {} });
    expect(parametersOf({ properties: { a: {} }, required: null })).toEqual({
      type: 'object',
      properties: { a: { type: 'string' } },
    });
  });

  it.each<[unknown, unknown]>([
    [{ properties: {} }, { type: 'object', properties: {} }],
    [{ items: { type: 'number' } }, { type: 'array', items: { type: 'number' } }],
    [
      { type: 'array', items: {} },
      { type: 'array', items: { type: 'string' } },
    ],
    [{ enum: [1, 2] }, { type: 'integer', enum: [1, 2] }],
    [{ enum: ['a', null] }, { type: 'string', enum: ['a'], nullable: true }],
    [{ const: true }, { type: 'boolean', enum: [true] }],
    [{ type: ['null', 'integer'] }, { type: 'integer', nullable: true }],
    [
      { type: null, default: null, title: 'T' },
      { type: 'string', title: 'T' },
    ],
    [true, { type: 'string' }],
    [{ additionalProperties: true }, { type: 'object', additionalProperties: true, properties: {} }],
    [
      { anyOf: [{ type: 'null' }, { type: 'number' }], description: 'd' },
      { type: 'number', nullable: true, description: 'd' },
    ],
    [{ oneOf: [{ type: 'boolean' }, { type: 'string' }] }, { type: 'boolean' }],
    [
      {
        allOf: [
          { properties: { a: { type: 'number' } }, required: ['a'] },
          { properties: { b: {} }, required: ['b'] },
        ],
      },
      { type: 'object', properties: { a: { type: 'number' }, b: { type: 'string' } }, required: ['a', 'b'] },
    ],
  ])('rewrites %j', (schema, expected) => {
    expect(property(schema)).toEqual(expected);
  });

  it('resolves references, and cuts recursive ones off', () => {
    const $defs = {
      Unit: { type: 'string', enum: ['C', 'F'] },
      Tree: { type: 'object', properties: { child: { $ref: '#/$defs/Tree' } } },
    };
    expect(property({ $ref: '#/$defs/Unit', description: 'unit' }, { $defs })).toEqual({
      type: 'string',
      enum: ['C', 'F'],
      description: 'unit',
    });
    expect(property({ $ref: '#/$defs/Tree' }, { $defs })).toEqual({
      type: 'object',
      properties: { child: { type: 'object', properties: {} } },
    });
  });

  it('refuses schemas that explode', () => {
    const $defs: Record<string, unknown> = { d0: { type: 'string' } };
    for (let level = 1; level <= 20; level++) {
      const $ref = `#/$defs/d${level - 1}`;
      $defs[`d${level}`] = { type: 'object', properties: { a: { $ref }, b: { $ref } } };
    }
    expect(() => property({ $ref: '#/$defs/d20' }, { $defs })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'tools[0].function.parameters' }),
    );
    let deep: unknown = {};
    for (let level = 0; level < 1000; level++) deep = { items: deep };
    expect(() => property(deep)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it.each<[string, unknown]>([
    ['tools', {}],
    ['tools[0].type', [{ function: { name: 'f' } }]],
    ['tools[0].function.name', [{ type: 'function' }]],
    ['tools[0].function.name', [{ type: 'function', function: { name: 'a b' } }]],
    ['tools[0].function.description', [{ type: 'function', function: { name: 'f', description: 1 } }]],
    ['tools[0].function.parameters', [{ type: 'function', function: { name: 'f', parameters: [] } }]],
    [
      'tools[0].function.parameters',
      [{ type: 'function', function: { name: 'f', parameters: { $ref: '#/$defs/none' } } }],
    ],
    [
      'tools[0].function.parameters',
      [{ type: 'function', function: { name: 'f', parameters: { $ref: 'http://x/y' } } }],
    ],
  ])('refuses a wrong %s', (argument, tools) => {
    expect(() => normalizeTools(tools as ToolDefinition[])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument }),
    );
  });
});
