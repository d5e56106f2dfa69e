import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { spread } from '../src/bench/spread.js';
import { markbase, markbaseJson } from './run-markbase.js';

interface Rate {
  median: number;
  min: number;
  max: number;
  values: number[];
}

interface Measurement {
  prefill: { promptTokens: number; tokensPerSecond: Rate }[];
  decode: {
    batch: number;
    depthTokens: number;
    generatedTokens: number;
    tokensPerSecond: Rate;
    cacheBytesPerToken: number;
  }[];
  bytesPerToken: number;
  bandwidthFraction: number;
}

interface Plan {
  commandCount: number;
  layerCount: number;
  commandsByKernel: Record<string, number>;
  commandsByScope: Record<string, number>;
  weightBytesPerStep: number;
}

test('measures the requested sizes', async () => {
  const model = temporaryFolder();
  const { sizeBytes } = await markbaseJson<{ sizeBytes: number }>([
    'synth',
    ...['--variant', 'e2b', '--tiny', '--out', model],
  ]);
  const result = await markbaseJson<Measurement>([
    'bench',
    ...['--model', model, '--prompt', '8,20', '--generate', '3', '--batch', '1,2', '--reps', '2'],
  ]);
  expect(result.prefill.map((item) => item.promptTokens)).toEqual([8, 20]);
  expect(result.decode.map((item) => item.batch)).toEqual([1, 2]);
  for (const { tokensPerSecond } of [...result.prefill, ...result.decode]) {
    expect(tokensPerSecond.values).toHaveLength(2);
    expect(tokensPerSecond.min).toBeGreaterThan(0);
    expect(tokensPerSecond.min).toBeLessThanOrEqual(tokensPerSecond.median);
    expect(tokensPerSecond.median).toBeLessThanOrEqual(tokensPerSecond.max);
  }
  // A token reads all matrices except the per-layer table, of which it reads one row.
  expect(result.bytesPerToken).toBeGreaterThan(0.2 * sizeBytes);
  expect(result.bytesPerToken).toBeLessThan(sizeBytes);
  expect(result.bandwidthFraction).toBeGreaterThan(0);
});

test('decodes after a cache that was never computed', async () => {
  const model = temporaryFolder();
  await markbaseJson(['synth', '--variant', '12b', '--tiny', '--out', model]);
  const { decode } = await markbaseJson<Measurement>([
    'bench',
    ...['--model', model, '--prompt', '8', '--generate', '2', '--batch', '1,2', '--reps', '1'],
    ...['--depth', '1,1000,4000'],
  ]);
  expect(decode.map(({ depthTokens, batch }) => [depthTokens, batch])).toEqual([
    [1, 1],
    [1, 2],
    [1000, 1],
    [1000, 2],
    [4000, 1],
    [4000, 2],
  ]);
  // Two full layers see everything; each has one head with width 64 and separate keys and values.
  const more = decode[4]!.cacheBytesPerToken - decode[2]!.cacheBytesPerToken;
  expect(more).toBe(3000 * 2 * 64 * 2 * 2);
});

test('counts the commands of a decode step without a checkpoint, and removes its files', async () => {
  const plans = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('markbase-plan-'));
  const before = await plans();
  const plan = await markbaseJson<Plan>(['bench', '--plan', '--variant', 'e2b', '--rows', '2']);
  expect(await plans()).toEqual(before);
  expect(plan.layerCount).toBe(35);
  const total = (counts: Record<string, number>) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0);
  expect(total(plan.commandsByKernel)).toBe(plan.commandCount);
  expect(total(plan.commandsByScope)).toBe(plan.commandCount);
  // At 4.5 bits per weight, the true shape reads about 1.3 GB per token.
  expect(plan.weightBytesPerStep / 1e9).toBeCloseTo(1.3, 1);
});

interface GpuPlan {
  gpu: {
    dispatches: number;
    barriers: number;
    commandBuffers: number;
    waits: number;
    weightBytes: number;
    tokenTensorBytes: number;
    checkpointBytes: number;
    cacheBytes: number;
    activationBytes: number;
    bytesPerSecond: Record<string, number>;
    predictedMsPerStep: Record<string, number>;
    predictedMsPerToken: Record<string, number>;
    launches: { kernel: string; label: string; groups: number[]; threads: number; activationBytes: number }[];
  };
  weightBytesPerStep: number;
}

// Maximum launches of a decode step on a GPU: 7 per dense layer, 11 per layer with experts, and a few more.
const BUDGETS = { e2b: 250, e4b: 300, '12b': 345, '26b-a4b': 330, '31b': 430 };

const planOf = (...flags: string[]) =>
  markbaseJson<GpuPlan>(['bench', '--plan', '--device', 'metal', ...flags]);

const CONTEXTS = [1, 1024, 4096, 32_768];
const BUDGETED = Object.entries(BUDGETS).flatMap(([variant, budget]) =>
  CONTEXTS.map((context) => [variant, context, budget] as const),
);

test.each(BUDGETED)(
  'stays within the launch budget for %s at context %i',
  async (variant, context, budget) => {
    const { gpu, weightBytesPerStep } = await planOf('--variant', variant, '--context', String(context));
    expect(gpu.dispatches).toBeLessThanOrEqual(budget);
    expect(gpu.dispatches).toBe(gpu.launches.length);
    expect(gpu.barriers).toBeLessThan(gpu.dispatches);
    expect(gpu).toMatchObject({ commandBuffers: 1, waits: 1, weightBytes: weightBytesPerStep });
    const perLayer = new Map<string, number>();
    for (const { label } of gpu.launches) {
      const scope = label.split(' / ')[0]!;
      if (scope.startsWith('layer ')) perLayer.set(scope, (perLayer.get(scope) ?? 0) + 1);
    }
    expect(Math.max(...perLayer.values())).toBeLessThanOrEqual(variant === '26b-a4b' ? 11 : 7);
    // Compares what the commands claim to read with the headers of the checkpoint.
    expect(gpu.weightBytes / gpu.tokenTensorBytes).toBeGreaterThan(0.99);
    expect(gpu.weightBytes / gpu.tokenTensorBytes).toBeLessThanOrEqual(1.01);
    // The row that a token looks up belongs to a head that is read as well.
    expect(gpu.checkpointBytes).toBeGreaterThan(0.999 * gpu.tokenTensorBytes);
  },
);

test('predicts according to the documented formula', async () => {
  const { gpu } = await planOf('--variant', 'e2b', '--tiny', '--rows', '2', '--context', '100');
  const seconds = (gpu.weightBytes + gpu.cacheBytes) / gpu.bytesPerSecond.M1!;
  const launchMs = (1.3 * gpu.barriers + 0.5 * (gpu.dispatches - gpu.barriers)) / 1000;
  expect(gpu.predictedMsPerStep.M1).toBeCloseTo(1000 * seconds + launchMs, 3);
  expect(gpu.predictedMsPerToken.M1).toBeCloseTo(gpu.predictedMsPerStep.M1! / 2, 2);
  expect(Object.keys(gpu.predictedMsPerToken)).toContain('M5 Max');
  const total = gpu.launches.reduce((sum, { activationBytes }) => sum + activationBytes, 0);
  expect(gpu.activationBytes).toBe(total);
});

test('plans a prefill step', async () => {
  const { gpu } = await planOf('--variant', '31b', '--tiny', '--step', 'prefill', '--rows', '32');
  expect(gpu.launches.map(({ kernel }) => kernel)).toContain('linear_tile_q4');
});

test('reports missing options', async () => {
  expect(await markbase(['bench'])).toMatchObject({ status: 1, stderr: expect.stringContaining('--model') });
  expect(await markbase(['bench', '--plan'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--variant'),
  });
});

test('the median of an even number of values is the mean of the middle two', () => {
  expect(spread([4, 1, 3, 2])).toMatchObject({ median: 2.5, min: 1, max: 4 });
  expect(spread([7, 5, 6]).median).toBe(6);
});
