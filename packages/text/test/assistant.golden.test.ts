import { argmax, openCheckpoint, openReference } from '@markbase/loader';
import type { Device, KvCache } from '@markbase/metal-runtime';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type DraftSource, generate, generateBatch, TextModel } from '../src/index.js';
import { loadAssistant } from '../src/model/assistant-weights.js';
import { AssistantSource } from '../src/speculation/assistant-source.js';
import { Draft } from '../src/speculation/draft.js';
import { fixture, openTestDevice, presentFixtures } from './fixtures.js';

let device: Device;
beforeAll(async () => {
  device = await openTestDevice();
});
afterAll(() => device.dispose());

const NAMES = presentFixtures(['e2b-assistant-hf', '31b-assistant-hf']).filter(
  (name) => presentFixtures([name.replace('-assistant', '')]).length > 0,
);

describe.each(NAMES)('%s', (name) => {
  const load = async (options: Parameters<typeof TextModel.load>[2] = {}) => {
    const checkpoint = await openCheckpoint(fixture(name.replace('-assistant', '')));
    const common = { precision: 'high', contextTokens: 64, maxSequences: 2 } as const;
    return TextModel.load(checkpoint, device, { ...common, ...options });
  };

  it.each(['high', 'fast'] as const)(
    'leaves the answers of its target as they are in %s',
    async (precision) => {
      const reference = await openReference(fixture(name));
      const prompt = await reference.integers('input_ids');
      const expected = await reference.integers('generate.plain');
      const maxTokens = expected.length;
      using plain = await load({ precision, suppressPlaceholders: false });
      using model = await load({ precision, suppressPlaceholders: false, assistant: fixture(name) });
      expect(model.settings.speculation).toBe(true);
      const requests = [
        { prompt, maxTokens, temperature: 0, logprobs: true },
        { prompt: prompt.slice(3), maxTokens: 30, seed: 3, temperature: 1, logprobs: true },
      ];
      const [greedy, sampled] = await generateBatch(model, requests);
      if (precision === 'high') expect(greedy!.tokens).toEqual(expected);
      const without = await generateBatch(plain, requests);
      for (const [index, result] of [greedy!, sampled!].entries()) {
        expect(result.tokens).toEqual(without[index]!.tokens);
        expect(result.logprobs).toEqual(without[index]!.logprobs);
      }
      expect(model.activity.draftedTokens).toBeGreaterThan(0);
      expect(plain.plan(1).commands.length).toBeLessThanOrEqual(model.plan(1).commands.length);
    },
  );

  it('guesses what the reference guesses', async () => {
    const reference = await openReference(fixture(name));
    using model = await load();
    const { config, decoder } = model;
    const { hiddenWidth, vocabularySize } = config;
    // The reference's sliding layers see two keys more (docs/gemma4.md section 6.3).
    const cacheOf = (kind: string) => {
      const isOfKind = ({ windowTokens }: KvCache) => (windowTokens === null) === (kind === 'full');
      const cache = decoder.layers.map(({ attention }) => attention.cache).findLast(isOfKind)!;
      return kind === 'full' ? cache : { ...cache, windowTokens: cache.windowTokens! + 1 };
    };
    const checkpoint = await openCheckpoint(fixture(name));
    const assistant = await loadAssistant({ checkpoint, device, hiddenWidth, vocabularySize, cacheOf });
    const source = new AssistantSource({ assistant, decoder, device, precision: 'high', suppressed: [] });
    const [sequence] = await model.acquire([null]);
    const ids = await reference.integers('input_ids');
    await model.prefill([{ sequence: sequence!, rows: model.layOut({ ids }) }]);
    const hidden = (await reference.floats('step0.inputs_embeds')).slice(config.hiddenWidth);
    const [token] = await reference.integers('generate.tokens');
    const future = { sampling: {}, finish: null, prepare: () => null, accept: () => {} };
    const draft = new Draft(future, {}, { limit: 4, excluded: new Set() });
    const answer = { context: [token!], hidden, fork: () => future };
    const requests = [{ answer, sequence: sequence!, draft }];
    await source.draft(requests, (...step) => model.runStep(...step));
    const expected = [];
    for (const step of [0, 1, 2, 3]) expected.push(argmax(await reference.floats(`step${step}.logits`)));
    expect(draft.tokens.map((guess) => guess.token)).toEqual(expected);
    source.dispose();
  });
});

it('refuses the drafter of another model, and what is none', async () => {
  const [target] = presentFixtures(['12b-hf', '12b-mlx-4bit']);
  const checkpoint = await openCheckpoint(fixture(target!));
  await expect(TextModel.load(checkpoint, device, { assistant: checkpoint })).rejects.toThrow(/a drafter/);
  if (NAMES.length === 0) return;
  const wide = await openCheckpoint(fixture('wide-31b-mlx-4bit'));
  await expect(TextModel.load(wide, device, { assistant: fixture(NAMES[0]!) })).rejects.toThrow(
    /hidden states of/,
  );
});

it('takes a source of one’s own first', async () => {
  const [target] = presentFixtures(['12b-mlx-4bit', '31b-hf']);
  const asked: number[] = [];
  const source: DraftSource = {
    name: 'own',
    reach: () => 2,
    draft: (requests) => {
      for (const { answer, draft } of requests) {
        asked.push(answer.context.length);
        draft.push(answer.context.at(-1)!);
      }
    },
  };
  const checkpoint = await openCheckpoint(fixture(target!));
  using model = await TextModel.load(checkpoint, device, {
    speculation: { sources: [source], draftTokens: 2 },
    contextTokens: 64,
  });
  await generate(model, { prompt: [5, 6, 7], maxTokens: 4, temperature: 0 });
  expect(asked[0]).toBe(4);
});
