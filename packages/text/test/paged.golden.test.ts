import { fileURLToPath } from 'node:url';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openMetal } from '../../../fixtures/open-metal.js';
import {
  generate,
  generateBatch,
  loadTextModel,
  stream,
  type TextModel,
  type TextModelOptions,
} from '../src/index.js';
import { loadFixture, openTestDevice, presentFixtures } from './fixtures.js';

// The sliding window is 16 tokens: less than a block.
const [NAME] = presentFixtures(['e2b-mlx-4bit', 'e2b-hf', '31b-mlx-8bit', '12b-mlx-4bit', 'e4b-mlx-4bit']);
const CONTEXT = 160;

let device: Device;
/** A model with room for every sequence. */
let roomy: TextModel;
beforeAll(async () => {
  device = await openTestDevice();
  roomy = await load({ maxSequences: 4 });
});
afterAll(() => {
  roomy.dispose();
  device.dispose();
});

async function load(options: TextModelOptions, on = device): Promise<TextModel> {
  return (await loadFixture(NAME!, on, { contextTokens: CONTEXT, prefillChunk: 16, ...options })).model;
}

/** Room for one sequence and `share` of three more. */
async function tight(share: number, options: TextModelOptions = {}): Promise<TextModel> {
  const least = await load({ maxSequences: 1 });
  const most = await load({ maxSequences: 4 });
  const cacheBytes = Math.floor(least.cacheBytes + share * (most.cacheBytes - least.cacheBytes));
  least.dispose();
  most.dispose();
  return load({ maxSequences: 4, cacheBytes, ...options });
}

/** Ordinary ids that differ from seed to seed. */
const idsOf = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) => 5 + ((seed * 131 + index * 17 + ((index * index) % 23)) % 200));

describe('sequences that share blocks', () => {
  it('give the bits of a cold start, and the prompt of several answers is computed once', async () => {
    const prompt = idsOf(1, 100);
    const cold = await generate(roomy, { prompt, maxTokens: 12, logprobs: true });
    using model = await load({ maxSequences: 4 });
    const request = { prompt, maxTokens: 12, logprobs: true, reusePrefix: true } as const;
    const before = model.activity.prefillTokens;
    const answers = await generateBatch(model, [request, request, request, request]);
    for (const { logprobs } of answers) expect(logprobs).toEqual(cold.logprobs);
    // Three blocks once, and the rest, which is shorter than a block, for each.
    expect(model.activity.prefillTokens - before).toBe(96 + 4 * 4);
    expect(answers.map(({ usage }) => usage.cachedTokens)).toEqual([0, 96, 96, 96]);
  });

  it('branch from a conversation that goes on undisturbed', async () => {
    using model = await load({ maxSequences: 4 });
    const base = idsOf(2, 70);
    const branches = [1, 2, 3].map((seed) => [...base, ...idsOf(seed + 10, 30)]);
    const ask = (on: TextModel, prompt: readonly number[]) =>
      generate(on, { prompt, maxTokens: 20, logprobs: true, reusePrefix: on === model });
    await ask(model, base);
    const together = await Promise.all([base, ...branches].map((prompt) => ask(model, prompt)));
    for (const [index, prompt] of [base, ...branches].entries()) {
      expect(together[index]!.logprobs).toEqual((await ask(roomy, prompt)).logprobs);
    }
    for (const { usage } of together.slice(1)) expect(usage.cachedTokens).toBeGreaterThanOrEqual(64);
  });
});

describe('sequences without room for all', () => {
  it('are set aside and read again, with the same bits, and never fail', async () => {
    using model = await tight(0.1);
    const requests = [3, 4, 5, 6].map((seed) => ({
      prompt: idsOf(seed, 40 + 5 * seed),
      maxTokens: 70,
      logprobs: true,
    }));
    const together = await Promise.all(requests.map((request) => generate(model, request)));
    let computed = 0;
    for (const [index, request] of requests.entries()) {
      computed += request.prompt.length;
      expect(together[index]!.logprobs).toEqual((await generate(roomy, request)).logprobs);
    }
    // Otherwise the caches were not tight.
    expect(model.activity.prefillTokens).toBeGreaterThan(computed);
    expect(model.activity).toMatchObject({ busySequences: 0, heldCacheBytes: 0 });
  });

  it('are set aside by the rows of one request that exceed the caches', async () => {
    using model = await tight(0.1);
    const request = { prompt: idsOf(7, 60), maxTokens: 60, logprobs: true, temperature: 1 };
    const seeds = [1, 2, 3, 4];
    const together = await generateBatch(
      model,
      seeds.map((seed) => ({ ...request, seed })),
    );
    for (const [index, seed] of seeds.entries()) {
      expect(together[index]!.logprobs).toEqual((await generate(roomy, { ...request, seed })).logprobs);
    }
  });

  it('begin one after the other if a request has more of them than fit', async () => {
    using model = await tight(0.1);
    const requests = Array.from({ length: 7 }, (_, index) => ({
      prompt: idsOf(20 + index, 90 + 5 * index),
      maxTokens: 10 + 3 * index,
      logprobs: true,
      reusePrefix: true,
    }));
    const together = await generateBatch(model, requests);
    for (const [index, request] of requests.entries()) {
      expect(together[index]!.logprobs).toEqual((await generate(roomy, request)).logprobs);
    }
  });

  it('refuse caches that cannot hold one', async () => {
    await expect(load({ cacheBytes: 1000 })).rejects.toThrow(
      /cacheBytes: expected at least \d+, for one sequence/,
    );
  });

  it('leave no block behind when clients leave at any time', async () => {
    using model = await tight(0.3);
    let random = 12345;
    const next = (limit: number) => {
      random = (random * 1103515245 + 12345) % 2 ** 31;
      return random % limit;
    };
    const client = async (seed: number) => {
      for (let turn = 0; turn < 4; turn++) {
        const leaveAfter = next(12);
        const controller = new AbortController();
        const settings = { maxTokens: 12, logprobs: true, reusePrefix: next(2) === 0 };
        const options = { ...settings, signal: controller.signal };
        let count = 0;
        try {
          if (leaveAfter === 0) setTimeout(() => controller.abort(new Error('left')), 0);
          for await (const event of stream(model, { prompt: idsOf(next(5), 20 + next(80)), ...options })) {
            if (event.type !== 'token' || ++count < leaveAfter) continue;
            if (seed % 2 === 0) break;
            controller.abort(new Error('left'));
          }
        } catch (error) {
          expect(error).toMatchObject({ message: 'left' });
        }
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_, seed) => client(seed)));
    expect(model.activity).toMatchObject({ busySequences: 0, heldTokens: 0, heldCacheBytes: 0 });
    // All blocks can be taken again.
    const prompt = idsOf(99, CONTEXT - 30);
    const request = { prompt, maxTokens: 20, logprobs: true };
    expect((await generate(model, request)).logprobs).toEqual((await generate(roomy, request)).logprobs);
  });
});

const metal = await openMetal(openDevice);
afterAll(() => metal?.dispose());
const DEMO = fileURLToPath(new URL('../../demo-model/model', import.meta.url));

describe.each([
  ['the CPU', () => device],
  ['Metal', () => metal],
] as const)('memory of 64 sequences on %s', (name, deviceOf) => {
  it.skipIf(name === 'Metal' && !metal)('follows their tokens within 5 %', async () => {
    const options = { maxSequences: 64, contextTokens: 2048, prefillChunk: 64 };
    using model = await loadTextModel(DEMO, deviceOf()!, options);
    const lengths = Array.from({ length: 64 }, (_, index) => 1200 + ((index * 389) % 800));
    const sequences = await model.acquire(lengths.map(() => null));
    for (const [index, sequence] of sequences.entries()) await model.skipTo(sequence, lengths[index]!);
    // Bytes of the positions that a later token sees.
    const { windowTokens } = model.config;
    let needed = 0;
    for (const [index, layer] of model.config.layers.entries()) {
      if (layer.kvSource !== null) continue;
      const { dtype, kvHeadCount, headWidth } = model.decoder.layers[index]!.attention.cache;
      const tokens = lengths.map((length) =>
        layer.kind === 'full' ? length : Math.min(length, windowTokens),
      );
      const positionBytes = 2 * kvHeadCount * headWidth * (dtype === 'F32' ? 4 : 2);
      needed += positionBytes * tokens.reduce((sum, count) => sum + count, 0);
    }
    const { heldCacheBytes, heldTokens } = model.activity;
    expect(heldTokens).toBe(lengths.reduce((sum, length) => sum + length, 0));
    expect(heldCacheBytes).toBeGreaterThanOrEqual(needed);
    expect(heldCacheBytes).toBeLessThan(1.05 * needed);
    expect(heldCacheBytes).toBeLessThan(model.cacheBytes);
    model.release(sequences);
    expect(model.activity.heldCacheBytes).toBe(0);
  });
});
