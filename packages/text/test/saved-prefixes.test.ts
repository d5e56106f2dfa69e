import { readdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { InvalidArgumentError } from '@markbase/core';
import { openCheckpoint } from '@markbase/loader';
import type { Device } from '@markbase/metal-runtime';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { fixture as stored } from '../../../fixtures/locate.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { type GenerateOptions, generate, TextModel, type TextModelOptions } from '../src/index.js';
import { openTestDevice } from './fixtures.js';

const BASE = stored('31b-hf');
const ADAPTERS = { peft: stored('adapters/peft'), mlx: stored('adapters/mlx') };
/** Ordinary ids that differ from seed to seed. */
const idsOf = (seed: number, count: number) =>
  Array.from({ length: count }, (_, index) => 5 + ((seed * 131 + index * 17 + ((index * index) % 23)) % 200));

let device: Device;
let directory: string;
let warnings: string[];
beforeAll(async () => {
  device = await openTestDevice();
});
beforeEach(() => {
  directory = temporaryFolder();
  warnings = [];
});
afterAll(() => device.dispose());

/** A model as a new process would load it. */
async function load(options: TextModelOptions = {}, maxBytes = 1e9): Promise<TextModel> {
  return TextModel.load(await openCheckpoint(BASE), device, {
    ...{ precision: 'high', contextTokens: 256, prefillChunk: 64, maxSequences: 2 },
    savedPrefixes: { directory, maxBytes, onWarning: (message) => warnings.push(message) },
    ...options,
  });
}

/** Answers a prompt, and waits until it is in the folder. */
async function ask(model: TextModel, prompt: readonly number[], options: GenerateOptions = {}) {
  const result = await generate(model, {
    ...{ prompt, maxTokens: 10, logprobs: true, reusePrefix: true },
    ...options,
  });
  await model.finishSaving();
  return result;
}

const files = () => readdirSync(directory).sort();

describe('prefixes in files', () => {
  it('are found after an abrupt restart, by the same prompt and by those that begin like it', async () => {
    const prompt = idsOf(1, 110);
    const first = await load();
    const cold = await ask(first, prompt);
    expect([cold.usage.cachedTokens, files().length]).toEqual([0, 1]);
    // Nothing more is written by what is known.
    await ask(first, prompt);
    expect(files()).toHaveLength(1);
    const second = await load();
    const again = await ask(second, prompt);
    expect(again.logprobs).toEqual(cold.logprobs);
    expect([again.usage.cachedTokens, second.activity.prefillTokens]).toEqual([109, 1]);
    const branch = [...prompt.slice(0, 70), ...idsOf(2, 40)];
    const third = await load();
    const branched = await ask(third, branch);
    expect(branched.usage.cachedTokens).toBe(70);
    expect(files()).toHaveLength(2);
    const alone = await ask(first, branch, { reusePrefix: false });
    expect(branched.logprobs).toEqual(alone.logprobs);
    // Both at once: one of them reads the files.
    const fourth = await load();
    const both = await Promise.all([ask(fourth, prompt), ask(fourth, prompt)]);
    expect(both.map(({ usage }) => usage.cachedTokens)).toEqual([109, 109]);
    for (const model of [first, second, third, fourth]) model.dispose();
    expect(warnings).toEqual([]);
  });

  it('belong to a model, a precision and an adapter, whatever its number', async () => {
    const prompt = idsOf(3, 80);
    const one = await load({ adapters: ADAPTERS });
    await ask(one, prompt, { adapter: 'mlx' });
    one.dispose();
    using other = await load({ adapters: { only: ADAPTERS.mlx, peft: ADAPTERS.peft } });
    expect((await ask(other, prompt)).usage.cachedTokens).toBe(0);
    expect((await ask(other, prompt, { adapter: 'peft' })).usage.cachedTokens).toBe(0);
    expect((await ask(other, prompt, { adapter: 'only' })).usage.cachedTokens).toBe(79);
    using fast = await load({ precision: 'fast' });
    expect((await ask(fast, prompt)).usage.cachedTokens).toBe(0);
    expect(warnings).toEqual([]);
  });

  it('leave within a budget, the least recently used ones first', async () => {
    const measured = await load();
    await ask(measured, idsOf(1, 110));
    measured.dispose();
    const size = statSync(path.join(directory, files()[0]!)).size;
    directory = temporaryFolder();
    const budget = Math.floor(2.5 * size);
    const model = await load({}, budget);
    for (const seed of [1, 2]) await ask(model, idsOf(seed, 110));
    const [first] = files();
    await ask(model, idsOf(1, 110));
    await ask(model, idsOf(3, 110));
    model.dispose();
    expect(files()).toHaveLength(2);
    expect(first).toBeDefined();
    using next = await load({}, budget);
    const cached = [];
    for (const seed of [1, 3, 2]) cached.push((await ask(next, idsOf(seed, 110))).usage.cachedTokens);
    expect(cached).toEqual([109, 109, 0]);
    using small = await load({}, size - 1);
    await ask(small, idsOf(4, 110));
    expect(files()).toHaveLength(0);
  });

  it('are ignored with a warning if they are damaged, and read again', async () => {
    const prompt = idsOf(5, 110);
    const first = await load();
    const cold = await ask(first, prompt);
    first.dispose();
    const file = path.join(directory, files()[0]!);
    const bytes = readFileSync(file);
    const damage = (offset: number) => {
      const copy = Buffer.from(bytes);
      copy[offset] = copy[offset]! ^ 1;
      writeFileSync(file, copy);
    };
    // A byte of a record is found when it is read, one of the index when the folder is.
    for (const offset of [2000, bytes.length - 60]) {
      damage(offset);
      warnings = [];
      const model = await load();
      const { logprobs, usage } = await ask(model, prompt);
      expect(logprobs).toEqual(cold.logprobs);
      expect(usage.cachedTokens).toBe(0);
      expect(warnings).toHaveLength(1);
      expect(warnings[0]).toMatch(/is ignored: .*checksum/);
      // It was written once more.
      expect((await ask(await load(), prompt)).usage.cachedTokens).toBe(109);
      model.dispose();
    }
    writeFileSync(path.join(directory, 'foreign.blocks'), 'something else');
    const killed = path.join(directory, 'x.blocks.1.partial');
    writeFileSync(killed, 'half a file');
    utimesSync(killed, 1, 1);
    using last = await load();
    expect((await ask(last, prompt)).usage.cachedTokens).toBe(109);
    expect(files()).toHaveLength(2);
    expect(warnings.at(-1)).toMatch(/foreign\.blocks/);
  });

  it('do without a folder that cannot be used', async () => {
    const taken = path.join(directory, 'file');
    writeFileSync(taken, '');
    using model = await load({
      savedPrefixes: { directory: taken, maxBytes: 1e9, onWarning: (message) => warnings.push(message) },
    });
    expect((await ask(model, idsOf(1, 40))).usage.cachedTokens).toBe(0);
    expect(warnings).toEqual([expect.stringMatching(/^prefixes are not kept in /)]);
    await expect(load({ savedPrefixes: { directory: '', maxBytes: 1 } })).rejects.toThrow(
      InvalidArgumentError,
    );
    await expect(load({ savedPrefixes: { directory, maxBytes: -1 } })).rejects.toThrow(/maxBytes/);
  });
});
