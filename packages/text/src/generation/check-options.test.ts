import { InvalidArgumentError } from '@markbase/core';
import { expect, it } from 'vitest';
import { checkGenerateOptions } from './check-options.js';
import type { GenerateOptions } from './generate-options.js';

const prompt = 'Once';

/** The error about options as plain JavaScript may write them. */
function refusal(options: object): InvalidArgumentError {
  try {
    checkGenerateOptions({ prompt, ...options } as GenerateOptions);
  } catch (error) {
    expect(error).toBeInstanceOf(InvalidArgumentError);
    return error as InvalidArgumentError;
  }
  expect.unreachable(`${JSON.stringify(options)} was not refused`);
}

it.each([
  {},
  { temperature: 2, presencePenalty: -2, frequencyPenalty: 2 },
  { responseFormat: 'json' },
  { responseFormat: { schema: { type: 'object' } } },
  { toolChoice: { name: 'weather' } },
  { stop: ['\n'], logprobs: true, tools: null },
])('accepts %j', (options) => {
  expect(() => checkGenerateOptions({ prompt, ...options } as GenerateOptions)).not.toThrow();
});

it.each([
  ['max_tokens', 'maxTokens'],
  ['max_new_tokens', 'maxTokens'],
  ['top_p', 'topP'],
  ['response_format', 'responseFormat'],
  ['stopSequences', 'stop'],
  ['logit_bias', 'logitBias'],
])('suggests for %s the name %s', (name, meant) => {
  expect(refusal({ [name]: 1 }).message).toMatch(new RegExp(`^${name}: .* Did you mean ${meant}\\?$`));
});

it.each([
  [{ temperature: 2.1 }, 'temperature: expected a number from 0 to 2, received 2.1'],
  [{ temperature: '1' }, 'temperature: expected a number from 0 to 2, received "1"'],
  [{ presencePenalty: -3 }, 'presencePenalty: expected a number from -2 to 2, received -3'],
  [{ frequencyPenalty: Number.NaN }, 'frequencyPenalty: expected a number from -2 to 2, received NaN'],
  [{ logprobs: 5 }, 'logprobs: expected true or false, received 5'],
  [{ stop: 'END' }, 'stop: expected an array, received "END"'],
])('refuses %j', (options, message) => {
  expect(refusal(options).message).toBe(message);
});

it.each([
  [{ type: 'json_schema', json_schema: { name: 'a', schema: {} } }, '{ schema: json_schema.schema }'],
  [{ type: 'json_object' }, "'json'"],
  [{ type: 'text' }, "'text'"],
])("names the counterpart of OpenAI's response format %j", (responseFormat, meant) => {
  const { argument, message } = refusal({ responseFormat });
  expect(argument).toBe('responseFormat');
  expect(message).toContain(`is ${meant} here`);
});

it.each(['markdown', 5, null, {}])('refuses the response format %j', (responseFormat) => {
  expect(refusal({ responseFormat }).expected).toBe("'text', 'json' or { schema }");
});

it("names the counterpart of OpenAI's tool choice", () => {
  const toolChoice = { type: 'function', function: { name: 'weather' } };
  expect(refusal({ toolChoice }).message).toContain('{ name: function.name } here');
});
