import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { patchify, patchLayout, writePixels } from './patches.js';
import { prepareImage } from './prepare-image.js';

const TOWER = { patchEdge: 16, blockEdge: 3 };
const UNIFIED = { patchEdge: 48, blockEdge: 1 };

describe('patchLayout', () => {
  it('depends on the kind of model', () => {
    const sizes = { patchSize: 16, poolingKernelSize: 3 };
    expect(patchLayout(sizes as Parameters<typeof patchLayout>[0])).toEqual(TOWER);
    const unified = { ...sizes, modelPatchSize: 48 };
    expect(patchLayout(unified as Parameters<typeof patchLayout>[0])).toEqual(UNIFIED);
  });
});

describe('patchify', () => {
  // Each pixel encodes its position: x, y, and 0.
  const width = 96;
  const height = 48;
  const data = Uint8Array.from({ length: width * height * 3 }, (_, index) => {
    const pixel = Math.floor(index / 3);
    return [pixel % width, Math.floor(pixel / width), 0][index % 3]!;
  });
  const image = { width, height, data };

  it('keeps the patches of a soft token together', () => {
    const { patchCount, softTokens, patchWidth, pixels, positions } = patchify(image, TOWER);
    expect([patchCount, softTokens, patchWidth]).toEqual([18, 2, 768]);
    for (let patch = 0; patch < patchCount; patch++) {
      const [x, y] = [positions[patch * 2]!, positions[patch * 2 + 1]!];
      expect([x, y]).toEqual([Math.floor(patch / 9) * 3 + (patch % 3), Math.floor((patch % 9) / 3)]);
      // The first pixel, and the last one.
      expect([...pixels.subarray(patch * 768, patch * 768 + 3)]).toEqual([x * 16, y * 16, 0]);
      expect([...pixels.subarray(patch * 768 + 765, patch * 768 + 768)]).toEqual([
        x * 16 + 15,
        y * 16 + 15,
        0,
      ]);
    }
  });

  it('creates one patch of 48 pixels per soft token of the unified embedder', () => {
    const { patchCount, patchWidth, pixels, positions } = patchify(image, UNIFIED);
    expect([patchCount, patchWidth, [...positions]]).toEqual([2, 6912, [0, 0, 1, 0]]);
    expect([...pixels.subarray(6912 + 48 * 3, 6912 + 48 * 3 + 3)]).toEqual([48, 1, 0]);
  });

  it('refuses sides that are not multiples of a block', () => {
    expect(() => patchify({ width: 50, height: 48, data: new Uint8Array(7200) }, TOWER)).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', argument: 'width' }),
    );
  });
});

describe('writePixels', () => {
  it('maps bytes to both ranges', () => {
    const target = new Float32Array(5);
    writePixels(Uint8Array.of(0, 51, 255), 'unit', target, 1);
    expect([...target]).toEqual([0, 0, Math.fround(0.2), 1, 0]);
    writePixels(Uint8Array.of(0, 51, 255), 'symmetric', target);
    expect([...target].slice(0, 3)).toEqual([-1, Math.fround(-0.6), 1]);
  });
});

describe('prepareImage', () => {
  const coloured = (background: string) =>
    sharp({ create: { width: 64, height: 48, channels: 3, background } })
      .png()
      .toBuffer();

  it('returns the count for the budget, and a key of the content', async () => {
    const bytes = await coloured('red');
    const made = await prepareImage(bytes, { budget: 70, layout: TOWER });
    expect([made.width, made.height, made.patches.softTokens]).toEqual([432, 336, 63]);
    expect(made.contentKey).toMatch(/^[\da-f]{64}$/);
    const key = async (input: Uint8Array, budget: number) =>
      (await prepareImage(input, { budget, layout: TOWER })).contentKey;
    expect(await key(await sharp(bytes).webp({ lossless: true }).toBuffer(), 70)).toBe(made.contentKey);
    expect(await key(bytes, 140)).not.toBe(made.contentKey);
    expect(await key(await coloured('#fe0000'), 70)).not.toBe(made.contentKey);
  });

  it('prepares a single pixel for either kind of model', async () => {
    const dot = { width: 1, height: 1, data: Uint8Array.of(9, 8, 7) };
    for (const [layout, patchCount] of [
      [TOWER, 576],
      [UNIFIED, 64],
    ] as const) {
      const { patches } = await prepareImage(dot, { budget: 70, layout });
      expect([patches.softTokens, patches.patchCount]).toEqual([64, patchCount]);
      expect([...patches.pixels.subarray(-3)]).toEqual([9, 8, 7]);
    }
  });

  it('refuses a budget before opening the file', async () => {
    await expect(prepareImage('/does/not/exist.png', { budget: 100, layout: TOWER })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument: 'budget',
    });
  });
});
