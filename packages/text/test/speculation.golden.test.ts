import { fileURLToPath } from 'node:url';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openCuda } from '../../../fixtures/open-cuda.js';
import { openMetal } from '../../../fixtures/open-metal.js';
import {
  type GenerateOptions,
  type GenerateResult,
  generate,
  generateBatch,
  loadTextModel,
  stream,
  type TextModelOptions,
  type TokenConstraint,
} from '../src/index.js';
import { loadFixture, openTestDevice, presentFixtures } from './fixtures.js';
import { PlantedSource } from './planted-source.js';

const NAMES = presentFixtures(['e2b-mlx-4bit', '12b-mlx-4bit', '31b-hf']);
const DEMO = fileURLToPath(new URL('../../demo-model/model', import.meta.url));
/** Longer than the window of 16 positions and than a block. */
const TOKENS = 48;

const idsOf = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) => 5 + ((seed * 131 + index * 17 + ((index * index) % 23)) % 200));
const sampled = (seed: number): GenerateOptions => ({
  ...{ prompt: idsOf(seed, 20 + seed), maxTokens: TOKENS, logprobs: true, topLogprobs: 3, seed },
  ...{ temperature: 0.9, topK: 40, topP: 0.95, repetitionPenalty: 1.1, presencePenalty: 0.2 },
});
const greedy = (seed: number): GenerateOptions => ({
  ...{ prompt: idsOf(seed, 20 + seed), maxTokens: TOKENS, temperature: 0, logprobs: true },
});
const REQUESTS = [greedy(1), sampled(2), sampled(3)];

/** Everything of an answer that guesses must not change. */
const contentOf = ({ tokens, logprobs, finishReason, text, toolCalls }: GenerateResult) => ({
  ...{ tokens, logprobs, finishReason, text },
  toolCalls: toolCalls.map(({ raw }) => raw),
});
const promptsWith = (results: readonly GenerateResult[]) =>
  results.map(({ tokens }, index) => [...(REQUESTS[index]!.prompt as number[]), ...tokens]);

let device: Device;
const metal = await openMetal(openDevice);
const cuda = await openCuda(openDevice);
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => {
  for (const each of [device, metal, cuda]) each?.dispose();
});

async function load(name: string, options: TextModelOptions, on = device) {
  const common = { contextTokens: 160, prefillChunk: 16, maxSequences: 3 };
  return (await loadFixture(name, on, { ...common, ...options })).model;
}

/** Answers with planted guesses, and without any. */
async function bothWays(name: string, options: TextModelOptions, on?: Device, requests = REQUESTS) {
  using plain = await load(name, { ...options, speculation: false }, on);
  const expected = await generateBatch(plain, requests);
  const sources = [new PlantedSource(promptsWith(expected), 0.7)];
  using model = await load(name, { ...options, speculation: { sources, draftTokens: 4 } }, on);
  const results = await generateBatch(model, requests);
  return { expected, results, activity: model.activity };
}

describe.each(NAMES)('guessed tokens of %s', (name) => {
  it.each(['high', 'fast'] as const)('change no bit of a batch in %s', async (precision) => {
    const { expected, results, activity } = await bothWays(name, { precision });
    expect(results.map(contentOf)).toEqual(expected.map(contentOf));
    const { draftedTokens, acceptedTokens, decodeSteps } = activity;
    expect(acceptedTokens).toBeGreaterThan(TOKENS);
    expect(draftedTokens).toBeGreaterThan(acceptedTokens);
    expect(decodeSteps).toBeLessThan(TOKENS - 10);
    const counted = results.reduce((sum, { usage }) => sum + usage.acceptedTokens, 0);
    expect(counted).toBe(acceptedTokens);
  });
});

it.each([
  ['Metal', metal, 'fast'],
  ['CUDA', cuda, 'high'],
] as const)('guessed tokens change no bit on %s', async (_, on, precision) => {
  if (!on) return;
  const requests = [{ ...greedy(1), maxTokens: 8 }];
  const { expected, results, activity } = await bothWays(NAMES[0]!, { precision }, on, requests);
  expect(results.map(contentOf)).toEqual(expected.map(contentOf));
  expect(activity.acceptedTokens).toBeGreaterThan(2);
});

it('guesses stay within tight caches, whose sequences are set aside', async () => {
  using least = await load(NAMES[0]!, { maxSequences: 1 });
  const cacheBytes = Math.floor(least.cacheBytes * 1.5);
  const { expected, results } = await bothWays(NAMES[0]!, { precision: 'high', cacheBytes });
  expect(results.map(contentOf)).toEqual(expected.map(contentOf));
});

describe('an answer with guesses', () => {
  it('takes only tokens that its constraint allows', async () => {
    /** Allows multiples of 3 after even counts, all others after odd ones. */
    const constraintAt = (count: number): TokenConstraint => {
      let at = count;
      return {
        allowed: () => Int32Array.from({ length: 12 }, (_, word) => maskOf(word, at % 2 === 0)),
        accept: () => void at++,
        fork: () => constraintAt(at),
      };
    };
    const request = () => ({ ...sampled(4), constraint: constraintAt(0) });
    using plain = await load(NAMES[0]!, { speculation: false });
    const expected = await generate(plain, request());
    const known = [[...idsOf(4, 24), ...expected.tokens]];
    const speculation = { sources: [new PlantedSource(known, 0.6)], draftTokens: 5 };
    using model = await load(NAMES[0]!, { speculation });
    expect(contentOf(await generate(model, request()))).toEqual(contentOf(expected));
    expect(model.activity.acceptedTokens).toBeGreaterThan(10);
  });

  it('is not guessed with a constraint that cannot fork', async () => {
    using model = await load(NAMES[0]!, { speculation: { draftTokens: 3 } });
    const constraint = { allowed: () => null, accept: () => {} };
    await generate(model, { prompt: [...idsOf(1, 20), ...idsOf(1, 20)], maxTokens: 9, constraint });
    expect(model.activity.draftedTokens).toBe(0);
  });

  it('ends at a stop token among the guesses, and when its reader leaves', async () => {
    using plain = await load(NAMES[0]!, { speculation: false });
    const whole = await generate(plain, greedy(1));
    const known = [[...idsOf(1, 21), ...whole.tokens]];
    using model = await load(NAMES[0]!, {
      speculation: { sources: [new PlantedSource(known, 1)], draftTokens: 6 },
    });
    const stopTokenIds = [whole.tokens[9]!];
    const expected = await generate(plain, { ...greedy(1), stopTokenIds });
    const stopped = await generate(model, { ...greedy(1), stopTokenIds });
    expect(contentOf(stopped)).toEqual(contentOf(expected));
    expect(stopped.finishReason).toBe('stop');
    for await (const event of stream(model, greedy(1))) if (event.type === 'token') break;
    expect(model.idleSequences).toBe(3);
  });

  it('has the programs of a plain one, and none is guessed unless it was asked for', async () => {
    using plain = await load(NAMES[0]!, { speculation: false });
    using model = await load(NAMES[0]!, {});
    expect(model.plan(2, 40)).toEqual(plain.plan(2, 40));
    expect(plain.settings.speculation).toBe(false);
    const prompt = [...idsOf(1, 20), ...idsOf(1, 20)];
    await generate(model, { prompt, maxTokens: 20 });
    await generate(plain, { prompt, maxTokens: 20, speculation: true });
    for (const { activity } of [model, plain]) expect(activity.draftedTokens).toBe(0);
  });
});

describe('the demo model', () => {
  const MESSAGES = [{ role: 'user', content: 'Tell me a story.' }] as const;
  const schema = {
    type: 'object',
    properties: {
      name: { type: 'string', maxLength: 12 },
      ages: { type: 'array', items: { type: 'integer' } },
    },
    required: ['name', 'ages'],
  };
  const CASES: GenerateOptions[] = [
    { messages: MESSAGES, maxTokens: 60, temperature: 0, stop: ['garden'] },
    { messages: MESSAGES, maxTokens: 60, seed: 4, frequencyPenalty: 0.3, enableThinking: true },
    { messages: MESSAGES, maxTokens: 60, seed: 5, responseFormat: { schema }, maxThinkingTokens: 4 },
  ];

  it('tells the same with its prediction, in fewer steps', async () => {
    using model = await loadTextModel(DEMO, device, {
      ...{ precision: 'high', contextTokens: 512, maxSequences: 3, speculation: { draftTokens: 4 } },
    });
    const plain = await generateBatch(
      model,
      CASES.map((request) => ({ ...request, speculation: false })),
    );
    const before = model.activity;
    const requests = CASES.map((request, index) => ({ ...request, prediction: plain[index]!.text }));
    const results = await generateBatch(model, requests);
    expect(results.map(contentOf)).toEqual(plain.map(contentOf));
    expect(before.draftedTokens).toBe(0);
    expect(model.activity.acceptedTokens).toBeGreaterThan(20);
    expect(results[0]!.usage.acceptedTokens).toBeGreaterThan(5);
  });

  it('measures what steps cost before it guesses, and changes nothing by it', async () => {
    using model = await loadTextModel(DEMO, device, {
      precision: 'high',
      contextTokens: 512,
      speculation: true,
    });
    const plain = await generate(model, { ...CASES[1]!, speculation: false });
    const first = await generate(model, { ...CASES[1]!, prediction: plain.text });
    expect(contentOf(first)).toEqual(contentOf(plain));
  });
});

function maskOf(word: number, isMultiple: boolean): number {
  let mask = 0;
  for (let bit = 0; bit < 32; bit++)
    if (word * 32 + bit > 5 && ((word * 32 + bit) % 3 === 0) === isMultiple) mask |= 1 << bit;
  return mask;
}
