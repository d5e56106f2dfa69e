import { join } from 'node:path';
import { compare, mergeAdapter, openCheckpoint } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import { describe, expect, it } from 'vitest';
import { fixture as stored } from '../../../fixtures/locate.js';
import { openCuda } from '../../../fixtures/open-cuda.js';
import { openMetal } from '../../../fixtures/open-metal.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { generate, TextModel } from '../src/index.js';

const BASE = stored('31b-hf');
const ADAPTERS = { peft: stored('adapters/peft'), mlx: stored('adapters/mlx') };
const NAMES = ['peft', undefined, 'mlx'] as const;
const PROMPT = [2, 17, 5];
const NEXT = 12;
const root = temporaryFolder();

/** Logits after a prompt and after one more token, of several sequences that share all steps. */
async function logitsOf(
  model: TextModel,
  adapters: readonly (string | undefined)[],
): Promise<Float32Array[][]> {
  const rows = adapters.map((adapter) =>
    model.layOut({ ids: PROMPT, ...(adapter !== undefined && { adapter }) }),
  );
  const sequences = await model.acquire(rows);
  const options = { withLogits: true };
  const jobs = sequences.map((sequence, index) => ({ sequence, rows: rows[index]! }));
  const first = await model.prefill(jobs, options);
  const second = await model.decode(
    sequences.map((sequence) => ({ sequence, token: NEXT })),
    options,
  );
  model.release(sequences);
  return first.map(({ logits }, index) => [logits!, second[index]!.logits!]);
}

/** The checkpoint with an adapter merged into float32 weights. */
async function merged(name: keyof typeof ADAPTERS | undefined): Promise<string> {
  if (name === undefined) return BASE;
  const folder = join(root, name);
  await mergeAdapter(BASE, ADAPTERS[name], folder, { dtype: 'F32' });
  return folder;
}

const settings = { contextTokens: 32, prefillChunk: 32 } as const;

/** Logits of a model with both adapters, of rows with each of them and with none in the same steps. */
async function adaptedLogits(device: Device, precision: 'high' | 'fast'): Promise<Float32Array[][]> {
  using model = await TextModel.load(await openCheckpoint(BASE), device, {
    ...settings,
    precision,
    maxSequences: NAMES.length,
    adapters: ADAPTERS,
  });
  return await logitsOf(model, NAMES);
}

/** Logits of models with merged weights, on the CPU; computed once. */
const references = new Map<string, Promise<Float32Array[][]>>();
async function mergedLogits(precision: 'high' | 'fast'): Promise<Float32Array[][]> {
  using device = await openDevice({ kind: 'cpu', threads: 2 });
  const logits: Float32Array[][] = [];
  for (const name of NAMES) {
    const checkpoint = await openCheckpoint(await merged(name));
    using model = await TextModel.load(checkpoint, device, { ...settings, precision });
    logits.push(...(await logitsOf(model, [undefined])));
  }
  return logits;
}

async function check(device: Device, precision: 'high' | 'fast'): Promise<void> {
  const expected = await (references.get(precision) ?? mergedLogits(precision));
  references.set(precision, Promise.resolve(expected));
  const received = await adaptedLogits(device, precision);
  const tolerance = precision === 'high' ? 1e-4 : 3e-2;
  for (const [index, name] of NAMES.entries()) {
    for (const [step, logits] of received[index]!.entries()) {
      expect(compare(logits, expected[index]![step]!).relRms, `${name} at ${step}`).toBeLessThan(tolerance);
    }
  }
  // The adapters change much more than the tolerance.
  for (const index of [0, 2])
    expect(compare(received[index]![0]!, received[1]![0]!).relRms).toBeGreaterThan(0.1);
  // In `high`, rows without an adapter are the bits of a model without adapters.
  if (precision === 'high' && device.info.kind === 'cpu') expect(received[1]).toEqual(expected[1]);
}

describe.each(['high', 'fast'] as const)('adapters in %s', (precision) => {
  it('give the logits of merged weights on the CPU, two and none in one batch', async () => {
    using device = await openDevice({ kind: 'cpu', threads: 2 });
    await check(device, precision);
  });

  // One precision each: how adapters are applied does not depend on it, and conformance runs their kernel in both.
  it(`do so on ${precision === 'high' ? 'Metal' : 'CUDA'}`, async ({ skip }) => {
    using device = await (precision === 'high' ? openMetal : openCuda)(openDevice);
    if (device === null) return skip('neither a GPU nor a simulator');
    await check(device, precision);
  });
});

it('a prefix is only reused by its own adapter', async () => {
  // Long enough to be worth remembering.
  const prompt = [...PROMPT, 90, 33, 41, 8];
  using device = await openDevice({ kind: 'cpu', threads: 2 });
  using model = await TextModel.load(await openCheckpoint(BASE), device, {
    ...settings,
    precision: 'high',
    adapters: ADAPTERS,
  });
  const reused = async (adapter: string | undefined) => {
    const options = { prompt, maxTokens: 1, reusePrefix: true, temperature: 0 } as const;
    const { usage } = await generate(model, { ...options, ...(adapter !== undefined && { adapter }) });
    return usage.cachedTokens;
  };
  expect([await reused('peft'), await reused('peft'), await reused('mlx'), await reused(undefined)]).toEqual([
    0,
    prompt.length - 1,
    0,
    0,
  ]);
  await expect(generate(model, { prompt: PROMPT, adapter: 'other' })).rejects.toMatchObject({
    code: 'INVALID_ARGUMENT',
    argument: 'adapter',
    expected: 'one of peft, mlx',
  });
});

it('an adapter of another model is refused by name and shape', async () => {
  using device = await openDevice({ kind: 'cpu', threads: 1 });
  const loading = TextModel.load(await openCheckpoint(stored('12b-mlx-4bit')), device, {
    ...settings,
    adapters: ADAPTERS,
  });
  await expect(loading).rejects.toThrow(/adapter: expected .*layers\.\d.* received "language_model\.layers/);
});

it('without adapters, programs have no trace of them', async () => {
  using device = await openDevice({ kind: 'cpu', threads: 1 });
  const checkpoint = await openCheckpoint(BASE);
  using plain = await TextModel.load(checkpoint, device, settings);
  using adapted = await TextModel.load(checkpoint, device, { ...settings, adapters: ADAPTERS });
  const families = (model: TextModel) =>
    model.plan().commands.filter(({ kernel }) => kernel === 'adapter_linear');
  expect(families(plain).length).toBe(0);
  const linears = plain.config.layers.reduce((sum, { keyIsValue }) => sum + (keyIsValue ? 6 : 7), 0);
  expect(families(adapted).length).toBe(2 * linears);
});
