import { expect, it } from 'vitest';
import { memoryRate } from './memory-rate.js';

const cuda = (name: string) => memoryRate({ kind: 'cuda', name, threads: 1 });

it('compares a GPU with its own memory, as its maker publishes it', async () => {
  expect(await cuda('NVIDIA H200')).toEqual({ readBytesPerSecond: 4.8e12, readRateSource: 'published' });
  expect(await cuda('NVIDIA A100-SXM4-80GB')).toMatchObject({ readBytesPerSecond: 2.039e12 });
  expect(await cuda('NVIDIA A100-PCIE-40GB')).toMatchObject({ readBytesPerSecond: 1.555e12 });
  expect(await cuda('NVIDIA GeForce RTX 4090')).toMatchObject({ readBytesPerSecond: 1008e9 });
  expect(await cuda('Another GPU')).toEqual({ readBytesPerSecond: null, readRateSource: 'published' });
});
