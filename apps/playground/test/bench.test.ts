import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { expect, test } from 'vitest';
import { spread } from '../src/bench/spread.js';
import { markbase, markbaseJson, temporaryFolder } from './run-markbase.js';

interface Rate {
  median: number;
  min: number;
  max: number;
  values: number[];
}

interface Measurement {
  prefill: { promptTokens: number; tokensPerSecond: Rate }[];
  decode: { batch: number; generatedTokens: number; tokensPerSecond: Rate }[];
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

test('measures what it was asked for', async () => {
  const model = await temporaryFolder();
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
  // A token reads all matrices but the per-layer table, of which it reads one row.
  expect(result.bytesPerToken).toBeGreaterThan(0.2 * sizeBytes);
  expect(result.bytesPerToken).toBeLessThan(sizeBytes);
  expect(result.bandwidthFraction).toBeGreaterThan(0);
});

test('counts the commands of a decode step without a checkpoint, and leaves nothing behind', async () => {
  const plans = async () => (await readdir(tmpdir())).filter((name) => name.startsWith('markbase-plan-'));
  const before = await plans();
  const plan = await markbaseJson<Plan>(['bench', '--plan', '--variant', 'e2b', '--rows', '2']);
  expect(await plans()).toEqual(before);
  expect(plan.layerCount).toBe(35);
  const total = (counts: Record<string, number>) =>
    Object.values(counts).reduce((sum, count) => sum + count, 0);
  expect(total(plan.commandsByKernel)).toBe(plan.commandCount);
  expect(total(plan.commandsByScope)).toBe(plan.commandCount);
  // 4.5 bits a weight: the true shape reads about 1.3 GB a token.
  expect(plan.weightBytesPerStep / 1e9).toBeCloseTo(1.3, 1);
});

test('says what is missing', async () => {
  expect(await markbase(['bench'])).toMatchObject({ status: 1, stderr: expect.stringContaining('--model') });
  expect(await markbase(['bench', '--plan'])).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--variant'),
  });
});

test('the median of an even number of values lies between the middle ones', () => {
  expect(spread([4, 1, 3, 2])).toMatchObject({ median: 2.5, min: 1, max: 4 });
  expect(spread([7, 5, 6]).median).toBe(6);
});
