import { ContextLengthError, InvalidArgumentError } from '@markbase/core';
import type { Reference } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GenerateOptions, generate, generateBatch, stream, type TextModel } from '../src/index.js';
import { loadFixture, openTestDevice, presentFixtures } from './fixtures.js';

// The sliding window is 16 tokens, and the answers below are much longer. Without a tokenizer, text is given as ids.
const [NAME] = presentFixtures(['e2b-mlx-4bit', 'e2b-hf', '31b-mlx-8bit', '12b-mlx-4bit', 'e4b-mlx-4bit']);

let device: Device;
let model: TextModel;
let reference: Reference;
let prompt: number[];
let expected: number[];

beforeAll(async () => {
  device = await openTestDevice();
  ({ model, reference } = await loadFixture(NAME!, device, {
    contextTokens: 64,
    maxSequences: 3,
    prefillChunk: 8,
  }));
  prompt = await reference.integers('generate.prompt');
  expected = await reference.integers('generate.tokens');
});
afterAll(() => {
  model.dispose();
  device.dispose();
});

const tokensOf = async (options: Omit<GenerateOptions, 'prompt'>) =>
  (await generate(model, { prompt, maxTokens: 24, ...options })).tokens;

it('counts computed tokens, and tokens in its caches', async () => {
  const before = model.activity;
  await generate(model, { prompt, maxTokens: 5 });
  const after = model.activity;
  expect(after.prefillTokens - before.prefillTokens).toBe(prompt.length);
  // The prompt yields the first token, and the last one is never fed back.
  expect(after.decodeSteps - before.decodeSteps).toBe(4);
  expect(after.decodedTokens - before.decodedTokens).toBe(4);
  expect(after.busySequences).toBe(0);
  // What the answer computed is known, but no sequence holds it.
  expect(after).toMatchObject({ heldTokens: 0, heldCacheBytes: 0 });
  expect(after.idleCacheBytes).toBeGreaterThan(0);
});

describe('generate', () => {
  it('generates the same greedy tokens as the reference', async () => {
    const result = await generate(model, { prompt, maxTokens: 24 });
    expect(result.tokens).toEqual(expected.slice(0, 24));
    expect(result).toMatchObject({
      finishReason: 'length',
      usage: {
        promptTokens: prompt.length,
        completionTokens: 24,
        reasoningTokens: 0,
        cachedTokens: 0,
        acceptedTokens: 0,
        rejectedTokens: 0,
      },
    });
  });

  it('respects a constraint and a bias', async () => {
    const words = new Int32Array(Math.ceil(model.config.vocabularySize / 32));
    const only = [40, 41, 42];
    for (const id of only) words[id >> 5]! |= 1 << (id & 31);
    const constraint = { allowed: () => words, accept: () => {} };
    const constrained = await tokensOf({ constraint, temperature: 2, seed: 1, maxTokens: 12 });
    expect(new Set(constrained)).toEqual(new Set(only));
    expect(await tokensOf({ logitBias: new Map([[77, 100]]), maxTokens: 3 })).toEqual([77, 77, 77]);
  });

  it('stops at a stop token', async () => {
    const stop = expected[5]!;
    const end = expected.indexOf(stop) + 1;
    const result = await generate(model, { prompt, maxTokens: 24, stopTokenIds: [stop] });
    expect(result.tokens).toEqual(expected.slice(0, end));
    expect(result.finishReason).toBe('stop');
  });

  it('generates the same tokens for the same seed, and different ones for another', async () => {
    const sampling = { temperature: 2, topP: 0.99, topK: 200 };
    const first = await tokensOf({ ...sampling, seed: 7 });
    expect(await tokensOf({ ...sampling, seed: 7 })).toEqual(first);
    expect(await tokensOf({ ...sampling, seed: 8 })).not.toEqual(first);
    const random = await generate(model, { prompt, maxTokens: 8, ...sampling });
    expect(await tokensOf({ maxTokens: 8, ...sampling, seed: random.seed })).toEqual(random.tokens);
  });

  it('is greedy with one candidate, whatever the temperature', async () => {
    expect(await tokensOf({ temperature: 2, topK: 1, seed: 1 })).toEqual(expected.slice(0, 24));
    expect(await tokensOf({ temperature: 2, topP: 1e-6, seed: 1 })).toEqual(expected.slice(0, 24));
    expect(await tokensOf({ temperature: 1, minP: 0.999999, seed: 1 })).toEqual(expected.slice(0, 24));
  });

  it('breaks repetitions with penalties', async () => {
    const distinct = (tokens: readonly number[]) => new Set(tokens).size;
    const plain = distinct(expected.slice(0, 24));
    for (const penalty of ['presencePenalty', 'frequencyPenalty'])
      expect(distinct(await tokensOf({ [penalty]: 2 })), penalty).toBeGreaterThan(plain);
    const repeated = await tokensOf({ repetitionPenalty: 50 });
    expect(distinct(repeated)).toBeGreaterThan(plain);
    // The repetition penalty also counts the prompt, unlike the other two.
    expect(repeated.filter((token) => prompt.includes(token)).length).toBeLessThanOrEqual(
      expected.slice(0, 24).filter((token) => prompt.includes(token)).length,
    );
  });

  it('reports log-probabilities that sum to 1 and start with the best', async () => {
    const { logprobs } = await generate(model, { prompt, maxTokens: 4, logprobs: true, topLogprobs: 20 });
    expect(logprobs).toHaveLength(4);
    for (const [index, { token, logprob, topLogprobs }] of logprobs!.entries()) {
      expect(token).toBe(expected[index]);
      expect(topLogprobs).toHaveLength(20);
      expect(topLogprobs[0]).toMatchObject({ token, logprob });
      const sum = topLogprobs.reduce((total, entry) => total + Math.exp(entry.logprob), 0);
      expect(sum).toBeGreaterThan(0);
      expect(sum).toBeLessThan(1 + 1e-5);
    }
  });

  it('never generates placeholders or their delimiters', async () => {
    const tokens = await tokensOf({ temperature: 2, seed: 3, maxTokens: 40 });
    const { placeholders } = model.config;
    const forbidden = [
      placeholders.image,
      placeholders.audio,
      placeholders.video,
      ...placeholders.delimiters,
    ];
    expect(tokens.filter((token) => forbidden.includes(token))).toEqual([]);
  });

  it('fills the context and no more', async () => {
    const result = await generate(model, { prompt });
    expect(result.finishReason).toBe('length');
    expect(result.usage.completionTokens).toBe(64 - prompt.length);
  });

  it('refuses a prompt that does not fit, instead of truncating it', async () => {
    const long = Array.from({ length: 64 }, (_, index) => 3 + index);
    await expect(generate(model, { prompt: long })).rejects.toThrow(ContextLengthError);
    expect((await generate(model, { prompt: long.slice(1) })).tokens).toHaveLength(1);
  });

  it.each([
    { maxTokens: 0 },
    { maxTokens: 1.5 },
    { temperature: -1 },
    { temperature: Number.NaN },
    { topP: 0 },
    { topP: 1.1 },
    { minP: 1 },
    { topK: -1 },
    { repetitionPenalty: 0 },
    { seed: 2 ** 53 },
    { seed: -1 },
    { topLogprobs: 21 },
    { stopTokenIds: [384] },
    { stop: [''] },
    { messages: [] },
    { prompt: undefined },
  ])('refuses %o', async (options) => {
    await expect(generate(model, { prompt, ...options })).rejects.toThrow(InvalidArgumentError);
  });
});

describe('stream', () => {
  it('stops during prefill when aborted, and releases its sequence', async () => {
    const controller = new AbortController();
    const reason = new DOMException('no longer wanted', 'AbortError');
    const long = Array.from({ length: 40 }, (_, index) => 3 + index);
    const progress: number[] = [];
    const run = generate(model, {
      prompt: long,
      signal: controller.signal,
      onPrefill: ({ doneTokens }) => {
        progress.push(doneTokens);
        controller.abort(reason);
      },
    });
    await expect(run).rejects.toBe(reason);
    expect(progress).toEqual([8]);
    expect(model.idleSequences).toBe(3);
    expect(await tokensOf({})).toEqual(expected.slice(0, 24));
  });

  it('stops while decoding when aborted, and when its reader stops', async () => {
    const controller = new AbortController();
    let count = 0;
    const read = async () => {
      for await (const _ of stream(model, { prompt, logprobs: true, signal: controller.signal })) {
        if (++count === 5) controller.abort();
      }
    };
    await expect(read()).rejects.toMatchObject({ name: 'AbortError' });
    expect(count).toBe(5);
    for await (const _ of stream(model, { prompt, logprobs: true })) break;
    expect(model.idleSequences).toBe(3);
  });

  it('serves several callers in turn without mixing them up', async () => {
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, index) =>
        generate(model, { prompt: index % 2 === 0 ? prompt : prompt.slice(0, 4), maxTokens: 12 }),
      ),
    );
    const short = await generate(model, { prompt: prompt.slice(0, 4), maxTokens: 12 });
    for (const [index, answer] of answers.entries()) {
      expect(answer.tokens).toEqual(index % 2 === 0 ? expected.slice(0, 12) : short.tokens);
    }
  });
});

describe('callers at the same time', () => {
  it('share decode steps, and get the same as each alone', async () => {
    const widths: number[] = [];
    const record = device.record;
    device.record = (...args) => {
      const program = record.apply(device, args);
      const run = program.run.bind(program);
      program.run = (step, options) => {
        if (program.label.startsWith('decode')) widths.push(step.tokens!.length);
        return run(step, options);
      };
      return program;
    };
    const shared = await loadFixture(NAME!, device, { contextTokens: 64, maxSequences: 3 });
    using other = shared.model;
    const requests = [1, 2, 3].map((seed) => ({
      prompt,
      maxTokens: 20,
      temperature: 2,
      seed,
      logprobs: true,
    }));
    const together = await Promise.all(requests.map((request) => generate(other, request)));
    device.record = record;
    expect(widths.length).toBeLessThan(30);
    expect(Math.max(...widths)).toBe(3);
    for (const [index, request] of requests.entries()) {
      expect((await generate(model, request)).logprobs).toEqual(together[index]!.logprobs);
    }
  });

  it('get the same as each alone with reduced precision too, in any number', async () => {
    const { model: fast } = await loadFixture(NAME!, device, {
      contextTokens: 64,
      maxSequences: 12,
      prefillChunk: 16,
      precision: 'fast',
    });
    using other = fast;
    const requests = Array.from({ length: 12 }, (_, index) => ({
      prompt: [3 + index, ...prompt.slice(0, 1 + index)],
      maxTokens: 10,
      logprobs: true,
    }));
    const together = await Promise.all(requests.map((request) => generate(other, request)));
    for (const [index, request] of requests.entries()) {
      expect((await generate(other, request)).logprobs).toEqual(together[index]!.logprobs);
    }
  });

  it('do not fail because of a bad row of another caller', async () => {
    const rows = model.layOut({ ids: prompt });
    const [a, b] = await model.acquire([null, null]);
    await model.prefill([
      { sequence: a!, rows },
      { sequence: b!, rows },
    ]);
    const token = expected[0]!;
    const results = await Promise.allSettled([
      model.decode([{ sequence: a!, token: -1 }]),
      model.decode([{ sequence: a!, token, sampling: { topP: 0 } }]),
      model.decode([
        { sequence: a!, token },
        { sequence: a!, token },
      ]),
      model.decode([{ sequence: b!, token }]),
    ]);
    model.release([a!, b!]);
    expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'fulfilled']);
    for (const result of results.slice(0, 3)) {
      expect(result).toMatchObject({ reason: expect.any(InvalidArgumentError) });
    }
  });

  it('end with an error, not a crash, when the model is disposed while they run', async () => {
    const { model: short } = await loadFixture(NAME!, device, { contextTokens: 64 });
    const seen: number[] = [];
    const read = async () => {
      for await (const event of stream(short, { prompt, logprobs: true })) {
        if (event.type === 'token') seen.push(event.token);
        if (seen.length === 3) short.dispose();
      }
    };
    await expect(read()).rejects.toThrow(/disposed/);
    expect(seen).toEqual(expected.slice(0, 3));
    expect(await tokensOf({})).toEqual(expected.slice(0, 24));
  });
});

describe('generateBatch', () => {
  it('answers more prompts than it has sequences, each as if alone', async () => {
    const requests = [3, 9, 5, 7, 4].map((length, index) => ({
      prompt: prompt.slice(0, length),
      maxTokens: 6 + 3 * index,
      logprobs: true,
    }));
    const together = await generateBatch(model, requests);
    for (const [index, request] of requests.entries()) {
      const alone = await generate(model, request);
      expect(together[index]!.tokens).toEqual(alone.tokens);
      expect(together[index]!.logprobs).toEqual(alone.logprobs);
    }
  });

  it('gives every answer its own seed and options', async () => {
    const request = { prompt, maxTokens: 10, temperature: 2 };
    const [a, b, greedy] = await generateBatch(model, [
      { ...request, seed: 1 },
      { ...request, seed: 2 },
      { prompt, maxTokens: 10 },
    ]);
    expect(a!.tokens).toEqual(await tokensOf({ ...request, seed: 1 }));
    expect(b!.tokens).toEqual(await tokensOf({ ...request, seed: 2 }));
    expect(greedy!.tokens).toEqual(expected.slice(0, 10));
  });
});

describe('reusePrefix', () => {
  const warm = (ids: readonly number[], maxTokens = 4) =>
    generate(model, { prompt: ids, maxTokens, reusePrefix: true, logprobs: true });

  it('yields the same bits as a cold start with less work', async () => {
    const first = await warm(prompt);
    const longer = [...prompt, ...first.tokens, 40, 41, 42];
    const reused = await warm(longer);
    expect(reused.usage.cachedTokens).toBeGreaterThanOrEqual(prompt.length);
    const cold = await generate(model, { prompt: longer, maxTokens: 4, logprobs: true });
    expect(cold.usage.cachedTokens).toBe(0);
    expect(reused.logprobs).toEqual(cold.logprobs);
  });

  it('starts over when sliding layers no longer hold the window before the prefix', async () => {
    const long = await generate(model, { prompt, maxTokens: 40, reusePrefix: true });
    expect(long.tokens).toEqual(expected.slice(0, 40));
    const branch = [...prompt, ...expected.slice(0, 3), 50, 51];
    const reused = await warm(branch);
    const cold = await generate(model, { prompt: branch, maxTokens: 4, logprobs: true });
    expect(reused.logprobs).toEqual(cold.logprobs);
  });

  it('copies rows of another request, running or remembered, bit for bit', async () => {
    const long = [...prompt, ...expected.slice(0, 24)];
    const branch = [...long.slice(0, 30), 60, 61, 62];
    const cold = await generate(model, { prompt: branch, maxTokens: 6, logprobs: true });
    const { model: shared } = await loadFixture(NAME!, device, {
      contextTokens: 64,
      maxSequences: 2,
      prefillChunk: 16,
    });
    using other = shared;
    const rows = other.layOut({ ids: long });
    const [busy] = await other.acquire([null]);
    await other.prefill([{ sequence: busy!, rows }]);
    const copied = await generate(other, { prompt: branch, maxTokens: 6, logprobs: true, reusePrefix: true });
    expect(copied.usage.cachedTokens).toBe(30);
    expect(copied.logprobs).toEqual(cold.logprobs);
    // The source continues undisturbed.
    const [choice] = await other.decode([{ sequence: busy!, token: expected[24]! }]);
    expect(choice!.token).toBe(expected[25]);
    other.release([busy!]);
  });

  it('remembers more prompts than it can answer at once', async () => {
    const { model: shared } = await loadFixture(NAME!, device, { contextTokens: 64, rememberedSequences: 2 });
    using other = shared;
    const prompts = [5, 6, 7].map((first) => [first, ...prompt, ...expected.slice(0, 12)]);
    const ask = (ids: readonly number[]) => generate(other, { prompt: ids, maxTokens: 1, reusePrefix: true });
    for (const ids of prompts) expect((await ask(ids)).usage.cachedTokens).toBe(0);
    for (const ids of prompts) expect((await ask(ids)).usage.cachedTokens).toBe(ids.length - 1);
    await Promise.all(prompts.map(ask));
    expect(other.idleSequences).toBe(1);
  });
});
