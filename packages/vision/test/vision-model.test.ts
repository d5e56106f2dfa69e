import { join } from 'node:path';
import {
  CorruptFileError,
  DisposedError,
  InvalidArgumentError,
  LimitExceededError,
  OutOfMemoryError,
  UnsupportedModelError,
  WeightMapError,
} from '@markbase/core';
import { type Checkpoint, openCheckpoint, type VisionTowerConfig, weightBytes } from '@markbase/loader';
import { type Device, openDevice } from '@markbase/metal-runtime';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest';
import { fullDevice } from '../../../fixtures/full-device.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { type ImageInput, VisionModel, type VisionModelOptions } from '../src/index.js';
import { checkpointFolder } from './fixtures.js';

const TOWER = checkpointFolder('e2b-mlx-4bit')!;
const UNIFIED = checkpointFolder('12b-mlx-4bit')!;

let device: Device;
beforeAll(async () => {
  device = await openDevice({ kind: 'cpu', threads: 2 });
});
afterAll(() => device.dispose());

const load = (options: VisionModelOptions = {}, folder = TOWER) =>
  VisionModel.load(folder, device, { precision: 'high', ...options });

/** A reproducible picture. */
function pixels(width: number, height: number, seed = 1): ImageInput {
  const data = Uint8Array.from(
    { length: width * height * 3 },
    (_, i) => (i * (seed + 6) + (i >> 5) * seed) % 256,
  );
  return { data, width, height, channels: 3 };
}

/** The tower's checkpoint with another `vision_config`; it has three layers. */
async function withVision(
  change: (vision: VisionTowerConfig) => VisionTowerConfig | null,
): Promise<Checkpoint> {
  const checkpoint = await openCheckpoint(TOWER);
  const config = checkpoint.config as Extract<Checkpoint['config'], { family: 'gemma4' }>;
  return { ...checkpoint, config: { ...config, vision: change(config.vision!) } };
}

const withLayers = (layerCount: number) => withVision((vision) => ({ ...vision, layerCount }));

describe('VisionModel.encode', () => {
  it('returns as many rows as countTokens, in the width of the text model', async () => {
    using model = await load();
    const soft = await model.encode(pixels(100, 60), { budget: 70 });
    expect(soft).toMatchObject({ kind: 'image', width: model.config.outputWidth });
    expect(soft.rows).toBe(model.countTokens(100, 60, 70));
    expect(soft.values.length).toBe(soft.rows * soft.width);
    expect(soft.values.every(Number.isFinite)).toBe(true);
  });

  it('gives a picture the same bits alone, with others, and in any order', async () => {
    using model = await load({ cacheBytes: 0 });
    const images = [pixels(96, 96, 1), pixels(200, 50, 2), pixels(60, 180, 3)];
    const together = await model.encode(images, { budget: 70 });
    const reversed = await model.encode([...images].reverse(), { budget: 70 });
    for (const [index, image] of images.entries()) {
      const alone = await model.encode(image, { budget: 70 });
      expect(together[index]!.values).toEqual(alone.values);
      expect(reversed[2 - index]!.values).toEqual(alone.values);
    }
  });

  it('recomputes a picture only after it has left the cache', async () => {
    using model = await load();
    const first = await model.encode(pixels(96, 96), { budget: 70 });
    expect((await model.encode(pixels(96, 96), { budget: 70 })).values).toBe(first.values);
    expect(model.cachedBytes).toBe(first.values.byteLength);
    const other = await model.encode(pixels(96, 96), { budget: 140 });
    expect(other.contentKey).not.toBe(first.contentKey);
    using fast = await load({ precision: 'fast' });
    expect((await fast.encode(pixels(96, 96), { budget: 70 })).contentKey).not.toBe(first.contentKey);
    using without = await load({ cacheBytes: 0 });
    await without.encode(pixels(96, 96), { budget: 70 });
    expect(without.cachedBytes).toBe(0);
  });

  it('accepts a budget per picture', async () => {
    using model = await load();
    const [small, large] = await model.encode([
      { image: pixels(96, 96), budget: 70 },
      { image: pixels(96, 96), budget: 280 },
    ]);
    expect([small!.rows, large!.rows]).toEqual([64, 256]);
  });

  it('accepts many pictures without a warning about listeners', async () => {
    using model = await load({ precision: 'fast' });
    const warnings: Error[] = [];
    const onWarning = (warning: Error) => warnings.push(warning);
    process.on('warning', onWarning);
    onTestFinished(() => void process.off('warning', onWarning));
    const { signal } = new AbortController();
    const images = Array.from({ length: 14 }, (_, index) => pixels(16, 16, index + 1));
    const encoded = await model.encode(images, { budget: 70, signal });
    // Warnings are emitted in the next iteration of the event loop.
    await new Promise(setImmediate);
    expect(encoded.map(({ rows }) => rows)).toEqual(images.map(() => 64));
    expect(warnings).toEqual([]);
  });

  it('encodes the largest budget, alone in its step', async () => {
    using model = await load({ precision: 'fast' });
    const [small, large] = await model.encode([
      { image: pixels(64, 64), budget: 70 },
      { image: pixels(64, 64, 2), budget: 1120 },
    ]);
    expect([small!.rows, large!.rows]).toEqual([64, 1089]);
  });

  it('works for the unified embedder', async () => {
    using model = await load({}, UNIFIED);
    const [one, other] = await model.encode([pixels(96, 96), pixels(96, 144, 2)], { budget: 70 });
    expect(one!.rows).toBe(64);
    expect((await model.encode(pixels(96, 144, 2), { budget: 70 })).values).toEqual(other!.values);
  });

  it('quantises a plain tower while loading, more accurately with more bits', async () => {
    using plain = await load();
    const expected = (await plain.encode(pixels(96, 96), { budget: 70 })).values;
    const errorOf = async (quantizeOnLoad: 4 | 8): Promise<number> => {
      using model = await load({ quantizeOnLoad });
      const actual = (await model.encode(pixels(96, 96), { budget: 70 })).values;
      return Math.hypot(...actual.map((value, i) => value - expected[i]!)) / Math.hypot(...expected);
    };
    const [eight, four] = [await errorOf(8), await errorOf(4)];
    expect(eight).toBeGreaterThan(0);
    expect(eight).toBeLessThan(0.1);
    // The step is sixteen times as large; the effect of the layers varies.
    expect(four).toBeGreaterThan(4 * eight);
    expect(four).toBeLessThan(1);
  });
});

describe('VisionModel.encodeVideo', () => {
  it('returns every frame with its time and the soft tokens of the picture alone', async () => {
    const folder = temporaryFolder();
    const colours = ['red', 'green', 'blue'];
    for (const [index, background] of colours.entries()) {
      const picture = sharp({ create: { width: 90, height: 90, channels: 3, background } });
      await picture.png().toFile(join(folder, `${index}.png`));
    }
    using model = await load();
    const frames = await model.encodeVideo(folder, { framesPerSecond: 2 });
    expect(frames.map(({ timestampSeconds }) => timestampSeconds)).toEqual([0, 0.5, 1]);
    const alone = await model.encode(join(folder, '2.png'), { budget: 70 });
    expect(frames[2]!.softTokens).toMatchObject({ kind: 'video', rows: 64, contentKey: alone.contentKey });
    expect(frames[2]!.softTokens.values).toEqual(alone.values);
  });
});

describe('VisionModel errors', () => {
  it.each([
    [TOWER, 'vision_tower'],
    [UNIFIED, 'vision_embedder'],
  ])('reports insufficient memory before anything is loaded: %s', async (folder, root) => {
    const checkpoint = await openCheckpoint(folder);
    const device = fullDevice(OutOfMemoryError) as unknown as Device;
    const error = await VisionModel.load(checkpoint, device).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(OutOfMemoryError);
    expect(error).toMatchObject({
      label: 'weights of the vision part',
      requestedBytes: weightBytes(checkpoint.weights, [root, 'embed_vision']),
    });
  });

  it('refuses invalid pictures and budgets before anything runs', async () => {
    using model = await load();
    await expect(model.encode(Uint8Array.of(1, 2, 3))).rejects.toThrow(CorruptFileError);
    await expect(model.encode(new Uint8Array())).rejects.toThrow(CorruptFileError);
    await expect(model.encode(null as never)).rejects.toThrow(InvalidArgumentError);
    await expect(model.encode([null as never])).rejects.toThrow(InvalidArgumentError);
    await expect(model.encode(pixels(10, 10), { budget: 100 })).rejects.toThrow(InvalidArgumentError);
    expect(() => model.countTokens(10, 10, 100)).toThrow(InvalidArgumentError);
  });

  it('refuses pictures with more patches in a line than the table has entries', async () => {
    using model = await load();
    await expect(model.encode(pixels(3000, 10), { budget: 280 })).rejects.toThrow(LimitExceededError);
  });

  it('refuses models without vision', async () => {
    const blind = await withVision(() => null);
    await expect(VisionModel.load(blind, device)).rejects.toThrow(UnsupportedModelError);
  });

  it('names every missing tensor', async () => {
    const error = await VisionModel.load(await withLayers(4), device).catch((reason) => reason);
    expect(error).toBeInstanceOf(WeightMapError);
    expect(error.missing).toContain('vision_tower.encoder.layers.3.self_attn.q_proj.linear.weight');
    expect(error.missing).toContain('vision_tower.encoder.layers.3.self_attn.q_proj.input_min');
  });

  it('names tensors that nothing uses', async () => {
    const error = await VisionModel.load(await withLayers(2), device).catch((reason) => reason);
    expect(error).toBeInstanceOf(WeightMapError);
    expect(error.unused.join()).toContain('vision_tower.encoder.layers.2.');
  });

  it.each([
    [{ quantizeOnLoad: 3 }, 'quantizeOnLoad'],
    [{ cacheBytes: -1 }, 'cacheBytes'],
    [{ precision: 'low' }, 'precision'],
  ])('refuses the option %j', async (options, argument) => {
    const error = await load(options as VisionModelOptions).catch((reason) => reason);
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error.argument).toBe(argument);
  });

  it('stops with the reason of a signal', async () => {
    using model = await load();
    const signal = AbortSignal.abort(new RangeError('enough'));
    await expect(model.encode([pixels(96, 96)], { signal })).rejects.toThrow('enough');
    await expect(load({ signal })).rejects.toThrow('enough');
    const controller = new AbortController();
    const encoding = model.encode(pixels(960, 960), { signal: controller.signal, budget: 1120 });
    setTimeout(() => controller.abort(new RangeError('late')), 1);
    await expect(encoding).rejects.toThrow('late');
    expect((await model.encode(pixels(96, 96), { budget: 70 })).rows).toBe(64);
  });

  it('reports that it was disposed, also to waiting callers', async () => {
    const model = await load();
    const waiting = model.encode(pixels(96, 96), { budget: 70 });
    model.dispose();
    model.dispose();
    await expect(waiting).rejects.toThrow(DisposedError);
    await expect(model.encode(pixels(96, 96))).rejects.toThrow(DisposedError);
  });
});
