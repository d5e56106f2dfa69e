import { checkOptionNames, InvalidArgumentError, type OptionNames } from '@markbase/core';
import type { GenerateOptions } from './generate-options.js';

const OPTIONS: OptionNames<GenerateOptions> = {
  messages: true,
  prompt: true,
  adapter: true,
  tools: true,
  responseFormat: true,
  toolChoice: true,
  parallelToolCalls: true,
  enableThinking: true,
  maxThinkingTokens: true,
  preserveThinking: true,
  stop: true,
  logprobs: true,
  prediction: true,
  speculation: true,
  maxTokens: true,
  stopTokenIds: true,
  topLogprobs: true,
  reusePrefix: true,
  constraint: true,
  onPrefill: true,
  signal: true,
  temperature: true,
  topK: true,
  topP: true,
  minP: true,
  repetitionPenalty: true,
  presencePenalty: true,
  frequencyPenalty: true,
  logitBias: true,
  seed: true,
};
/** What other interfaces call them, where it is not only another spelling. */
const OTHER_NAMES = {
  max_new_tokens: 'maxTokens',
  max_completion_tokens: 'maxTokens',
  max_output_tokens: 'maxTokens',
  maxOutputTokens: 'maxTokens',
  num_predict: 'maxTokens',
  stop_sequences: 'stop',
  stopSequences: 'stop',
  system: "messages, with the role 'system'",
  json_schema: 'responseFormat',
  thinking: 'enableThinking',
  n: 'streamBatch or generateBatch',
};
/** The ranges of OpenAI's interface, which the server checks too. Those without a customary limit are checked by the engine. */
const RANGES = {
  temperature: [0, 2],
  presencePenalty: [-2, 2],
  frequencyPenalty: [-2, 2],
} as const;
const SWITCHES = [
  'parallelToolCalls',
  'enableThinking',
  'preserveThinking',
  'logprobs',
  'speculation',
] as const;

/**
 * Checks what plain JavaScript may get wrong: names, types of switches, the customary ranges, and formats in OpenAI's shape.
 *
 * @throws InvalidArgumentError
 */
export function checkGenerateOptions(options: GenerateOptions): void {
  checkOptionNames(options, OPTIONS, { other: OTHER_NAMES });
  for (const [argument, [min, max]] of Object.entries(RANGES)) {
    const received = options[argument as keyof typeof RANGES];
    if (received === undefined || (typeof received === 'number' && received >= min && received <= max))
      continue;
    throw new InvalidArgumentError({ argument, expected: `a number from ${min} to ${max}`, received });
  }
  for (const argument of SWITCHES) {
    const received = options[argument];
    if (received === undefined || typeof received === 'boolean') continue;
    throw new InvalidArgumentError({ argument, expected: 'true or false', received });
  }
  const { prediction } = options;
  if (prediction !== undefined && typeof prediction !== 'string')
    throw new InvalidArgumentError({ argument: 'prediction', expected: 'a text', received: prediction });
  checkResponseFormat(options.responseFormat);
  checkToolChoice(options.toolChoice);
  for (const argument of ['stop', 'stopTokenIds'] as const) {
    const received: unknown = options[argument];
    if (received === undefined || Array.isArray(received)) continue;
    throw new InvalidArgumentError({ argument, expected: 'an array', received });
  }
}

function checkResponseFormat(received: unknown): void {
  if (received === undefined || received === 'text' || received === 'json') return;
  if (isObject(received) && 'schema' in received && !('type' in received)) return;
  const type = isObject(received) ? received.type : undefined;
  const here = { json_schema: '{ schema: json_schema.schema }', json_object: "'json'", text: "'text'" };
  throw new InvalidArgumentError({
    argument: 'responseFormat',
    expected: "'text', 'json' or { schema }",
    received,
    ...(isKey(here, type) && { hint: `OpenAI's response_format of type "${type}" is ${here[type]} here` }),
  });
}

function checkToolChoice(received: unknown): void {
  if (received === undefined || (isObject(received) && typeof received.name === 'string')) return;
  if (received === 'auto' || received === 'none' || received === 'required') return;
  const isFunction = isObject(received) && received.type === 'function';
  throw new InvalidArgumentError({
    argument: 'toolChoice',
    expected: "'auto', 'none', 'required' or { name }",
    received,
    ...(isFunction && { hint: 'OpenAI\'s tool_choice of type "function" is { name: function.name } here' }),
  });
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}

function isKey<Keys extends object>(object: Keys, key: unknown): key is keyof Keys {
  return typeof key === 'string' && Object.hasOwn(object, key);
}
