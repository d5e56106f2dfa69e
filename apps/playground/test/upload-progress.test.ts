import { setTimeout } from 'node:timers/promises';
import { AudioModel } from '@markbase/audio';
import { modelPath } from '@markbase/demo-model';
import { openCheckpoint } from '@markbase/loader';
import {
  type Device,
  openDevice,
  type UploadProgress,
  type UploadProgressOptions,
} from '@markbase/metal-runtime';
import { loadTextModel } from '@markbase/text';
import { VisionModel } from '@markbase/vision';
import { expect, it } from 'vitest';
import { openCuda } from '../../../fixtures/open-cuda.js';

const loads: readonly [string, (device: Device, options: UploadProgressOptions) => Promise<Disposable>][] = [
  ['text', (device, options) => loadTextModel(modelPath, device, { contextTokens: 128, ...options })],
  ['vision', (device, options) => VisionModel.load(modelPath, device, options)],
  ['audio', (device, options) => AudioModel.load(modelPath, device, { precision: 'high', ...options })],
];
const cuda = await openCuda(openDevice);
cuda?.dispose();

it.runIf(cuda).each(loads)('%s models report the progress of their weights', async (name, load) => {
  using device = await openDevice({ kind: 'cuda' });
  const events: UploadProgress[] = [];
  using _model = await load(device, { onProgress: (progress) => events.push(progress) });
  const { queuedBytes: totalBytes } = device.uploads;
  while (events.at(-1)?.arrivedBytes !== totalBytes) await setTimeout(10);
  const arrived = events.map(({ arrivedBytes }) => arrivedBytes);
  expect(arrived).toEqual(arrived.toSorted((a, b) => a - b));
  expect(new Set(events.map((event) => event.totalBytes))).toEqual(new Set([totalBytes]));
  const { sizeBytes } = await openCheckpoint(modelPath);
  expect(totalBytes).toBeGreaterThan(0);
  expect(totalBytes).toBeLessThanOrEqual(sizeBytes);
  if (name === 'text') expect(totalBytes).toBeGreaterThan(sizeBytes / 2);

  // The complete event was the last one, and a load with nothing to copy reports none.
  const count = events.length;
  using _same = await load(device, { onProgress: (progress) => events.push(progress) });
  await setTimeout(250);
  expect(events).toHaveLength(count);
});

it.runIf(cuda).each(loads)('%s models fail with the error of the listener', async (_, load) => {
  using device = await openDevice({ kind: 'cuda' });
  const onProgress = () => {
    throw new Error('broken listener');
  };
  await expect(load(device, { onProgress })).rejects.toThrow('broken listener');
  const controller = new AbortController();
  const stop = () => controller.abort(new Error('enough'));
  await expect(load(device, { onProgress: stop, signal: controller.signal })).rejects.toThrow('enough');
});

it.each(loads)('%s models report nothing if weights are read in place', async (_, load) => {
  using device = await openDevice({ kind: 'cpu', threads: 1 });
  const events: UploadProgress[] = [];
  using _model = await load(device, { onProgress: (progress) => events.push(progress) });
  await setTimeout(250);
  expect(events).toEqual([]);
});
