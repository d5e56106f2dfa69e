import { fileURLToPath } from 'node:url';
import { InvalidArgumentError } from '@markbase/core';
import type { Device } from '@markbase/metal-runtime';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { randomSchema } from '../../../fixtures/random-schema.js';
import { generate, loadTextModel, type TextModel, type ToolDefinition } from '../src/index.js';
import { openTestDevice } from './fixtures.js';

const DIRECTORY = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
const QUESTION = [{ role: 'user', content: 'What is the weather in Paris?' }] as const;
const TOOLS: readonly ToolDefinition[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, days: { type: 'integer', minimum: 2, maximum: 5 } },
        required: ['days', 'city'],
      },
    },
  },
  {
    type: 'function',
    function: {
      name: 'add',
      parameters: { type: 'object', properties: { b: { type: 'number' } }, required: ['b'] },
    },
  },
];

let device: Device;
let model: TextModel;
beforeAll(async () => {
  device = await openTestDevice();
  model = await loadTextModel(DIRECTORY, device, { contextTokens: 1024, maxSequences: 8 });
});
afterAll(() => {
  model.dispose();
  device.dispose();
});

describe('responseFormat', () => {
  it('generates valid JSON for any schema, at any temperature, even if maxTokens cuts it short', async () => {
    const ajv = new Ajv2020({
      strict: false,
      formats: { date: true, 'date-time': true, uuid: true, email: true, ipv4: true, time: true },
    });
    const seeds = Array.from({ length: 40 }, (_, seed) => seed);
    const answers = await Promise.all(
      seeds.map((seed) =>
        generate(model, {
          messages: [{ role: 'user', content: `Make up number ${seed} as JSON.` }],
          responseFormat: { schema: randomSchema(seed) },
          temperature: 0.5 * (1 + (seed % 4)),
          maxTokens: 250,
          seed,
        }),
      ),
    );
    for (const [seed, { text }] of answers.entries()) {
      const validate = ajv.compile(randomSchema(seed) as object);
      expect(validate(JSON.parse(text)), `${seed}: ${text}\n${JSON.stringify(validate.errors)}`).toBe(true);
    }
  });

  it('generates an object without a schema, after a thought if there is one', async () => {
    const { text } = await generate(model, {
      messages: [{ role: 'user', content: 'What is 3 plus 4?' }],
      responseFormat: 'json',
      enableThinking: true,
      maxTokens: 60,
      temperature: 1.5,
      seed: 4,
    });
    expect(JSON.parse(text)).toBeInstanceOf(Object);
  });

  it('refuses a limit that no answer fits, and unsupported schemas', async () => {
    const schema = { type: 'string', minLength: 30 };
    const ask = (options: object) => generate(model, { messages: QUESTION, ...options });
    await expect(ask({ responseFormat: { schema }, maxTokens: 20 })).rejects.toThrow(
      'maxTokens: expected at least 33',
    );
    await expect(ask({ responseFormat: { schema: { not: {} } } })).rejects.toThrow(InvalidArgumentError);
  });
});

describe('toolChoice', () => {
  const ask = (options: object) =>
    generate(model, { messages: QUESTION, tools: TOOLS, maxTokens: 60, temperature: 2, seed: 9, ...options });

  it('makes the model call a tool, with arguments that match their schema', async () => {
    for (const seed of [1, 2, 3, 4]) {
      const { toolCalls, finishReason } = await ask({ toolChoice: 'required', seed });
      expect(finishReason).toBe('tool-calls');
      for (const { name, arguments: values } of toolCalls) {
        if (name === 'add') expect(values).toEqual({ b: expect.any(Number) });
        else {
          expect(Object.keys(values)).toEqual(expect.arrayContaining(['city', 'days']));
          expect([2, 3, 4, 5]).toContain(values.days);
        }
      }
    }
  });

  it('makes the model call a given tool, or none', async () => {
    const named = await ask({ toolChoice: { name: 'add' } });
    expect(named.toolCalls.map(({ name }) => name)).toEqual(['add']);
    const none = await ask({ toolChoice: 'none', temperature: 0 });
    expect(none.toolCalls).toEqual([]);
    expect((await ask({ toolChoice: 'auto', temperature: 0 })).toolCalls).toHaveLength(1);
  });

  it('leaves calls of strict tools optional, with arguments as declared', async () => {
    const strict = TOOLS.map((tool) => ({ ...tool, function: { ...tool.function, strict: true } }));
    const { toolCalls } = await ask({ tools: strict, temperature: 0 });
    expect(toolCalls[0]?.arguments).toMatchObject({ city: 'Paris', days: expect.any(Number) });
  });

  it('refuses unknown tools', async () => {
    await expect(ask({ toolChoice: { name: 'fly' } })).rejects.toThrow(InvalidArgumentError);
    await expect(ask({ toolChoice: 'required', tools: [] })).rejects.toThrow(InvalidArgumentError);
  });
});
