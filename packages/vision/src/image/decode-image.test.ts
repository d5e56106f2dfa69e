import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import sharp from 'sharp';
import { beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { decodeImage, imageSize } from './decode-image.js';
import type { RgbImage } from './rgb-image.js';

const COLOUR = { r: 200, g: 100, b: 50, alpha: 0.5 };
/** `COLOUR` at half strength over white. */
const OVER_WHITE = [228, 178, 153];

let folder: string;

beforeAll(() => {
  folder = temporaryFolder();
});
function plain(width: number, height: number, channels: 3 | 4 = 3) {
  return sharp({ create: { width, height, channels, background: COLOUR } });
}

function pixel(image: RgbImage, x = 0, y = 0): number[] {
  return [...image.data.subarray((y * image.width + x) * 3, (y * image.width + x) * 3 + 3)];
}

/** Expects every pixel of the picture to be within `tolerance` of a colour. */
function expectPlain(image: RgbImage, colour: readonly number[], tolerance: number): void {
  expect(image.data.length).toBe(image.width * image.height * 3);
  const worst = image.data.reduce(
    (most, value, index) => Math.max(most, Math.abs(value - colour[index % 3]!)),
    0,
  );
  expect(worst).toBeLessThanOrEqual(tolerance);
}

describe('decodeImage', () => {
  it.each(['png', 'jpeg', 'webp', 'avif', 'gif'] as const)('reads %s', async (format) => {
    const bytes = await plain(31, 17).toFormat(format, { quality: 100 }).toBuffer();
    const image = await decodeImage(bytes);
    expect([image.width, image.height]).toEqual([31, 17]);
    expectPlain(image, [200, 100, 50], 3);
    expect(await imageSize(bytes)).toEqual({ width: 31, height: 17 });
  });

  it('reads a file', async () => {
    const path = join(folder, 'plain.png');
    await writeFile(path, await plain(5, 4).png().toBuffer());
    expectPlain(await decodeImage(path), [200, 100, 50], 0);
    expect(await imageSize(path)).toEqual({ width: 5, height: 4 });
  });

  it('reads 16 bits, CMYK, grey and palettes', async () => {
    const deep = await plain(6, 5).toColourspace('rgb16').png().toBuffer();
    expect((await sharp(deep).metadata()).depth).toBe('ushort');
    expectPlain(await decodeImage(deep), [200, 100, 50], 0);
    const deepGrey = await plain(6, 5).toColourspace('grey16').png().toBuffer();
    expectPlain(await decodeImage(deepGrey), [128, 128, 128], 4);
    const print = await plain(6, 5).toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer();
    expect((await sharp(print).metadata()).channels).toBe(4);
    // Converted with a profile, and shown without one.
    expectPlain(await decodeImage(print), [200, 100, 50], 60);
    const grey = await plain(6, 5).greyscale().toColourspace('b-w').png().toBuffer();
    expect((await sharp(grey).metadata()).channels).toBe(1);
    expectPlain(await decodeImage(grey), [128, 128, 128], 4);
    const palette = await plain(6, 5).png({ palette: true }).toBuffer();
    expect((await sharp(palette).metadata()).isPalette).toBe(true);
    expectPlain(await decodeImage(palette), [200, 100, 50], 0);
  });

  it('follows an embedded colour profile', async () => {
    const wide = await plain(6, 5).withIccProfile('p3').png().toBuffer();
    expect((await sharp(wide).metadata()).icc?.length).toBeGreaterThan(0);
    const stored = await sharp(wide, { ignoreIcc: true }).raw().toBuffer();
    expect(Math.abs(stored[0]! - 200)).toBeGreaterThan(5);
    expectPlain(await decodeImage(wide), [200, 100, 50], 2);
  });

  it('composites transparent pixels over white', async () => {
    expectPlain(await decodeImage(await plain(6, 5, 4).png().toBuffer()), OVER_WHITE, 1);
    expectPlain(await decodeImage(await plain(6, 5, 4).png({ palette: true }).toBuffer()), OVER_WHITE, 1);
    const deep = await plain(6, 5, 4).toColourspace('rgb16').png().toBuffer();
    expectPlain(await decodeImage(deep), OVER_WHITE, 1);
    const clear = await sharp({
      create: { width: 2, height: 2, channels: 4, background: { r: 0, g: 0, b: 0, alpha: 0 } },
    })
      .webp({ lossless: true })
      .toBuffer();
    expectPlain(await decodeImage(clear), [255, 255, 255], 0);
  });

  it('rotates upright according to EXIF', async () => {
    // Left half dark, right half light, stored rotated for each orientation.
    const data = Uint8Array.from({ length: 16 * 8 * 3 }, (_, index) => (index % 48 < 24 ? 20 : 230));
    for (const [orientation, width, height, dark] of [
      [1, 16, 8, [0, 0]],
      [2, 16, 8, [15, 0]],
      [3, 16, 8, [15, 7]],
      [6, 8, 16, [0, 0]],
      [8, 8, 16, [0, 15]],
    ] as const) {
      const bytes = await sharp(data, { raw: { width: 16, height: 8, channels: 3 } })
        .withMetadata({ orientation })
        .jpeg({ quality: 100 })
        .toBuffer();
      const image = await decodeImage(bytes);
      expect([orientation, image.width, image.height]).toEqual([orientation, width, height]);
      expect(await imageSize(bytes)).toEqual({ width, height });
      expect(pixel(image, ...dark)[0]).toBeLessThan(40);
      expect(pixel(image, width - 1 - dark[0], height - 1 - dark[1])[0]).toBeGreaterThan(200);
    }
  });

  it('takes the first frame of an animation', async () => {
    const frames = Uint8Array.from({ length: 3 * 4 * 5 * 3 }, (_, index) => Math.floor(index / 60) * 100);
    const raw = { width: 4, height: 15, channels: 3, pageHeight: 5 } as const;
    for (const format of ['gif', 'webp'] as const) {
      const bytes = await sharp(frames, { raw }).toFormat(format, { lossless: true }).toBuffer();
      expect((await sharp(bytes).metadata()).pages).toBe(3);
      const image = await decodeImage(bytes);
      expect([image.width, image.height]).toEqual([4, 5]);
      expectPlain(image, [0, 0, 0], 0);
    }
  });

  it('reads a single pixel', async () => {
    expectPlain(await decodeImage(await plain(1, 1).png().toBuffer()), [200, 100, 50], 0);
  });

  it('accepts pixels of one to four channels', async () => {
    const size = { width: 2, height: 1 };
    const rgb = { ...size, data: Uint8Array.of(1, 2, 3, 4, 5, 6) };
    expect((await decodeImage(rgb)).data).toEqual(rgb.data);
    const grey = await decodeImage({ ...size, data: Uint8Array.of(7, 9), channels: 1 });
    expect([...grey.data]).toEqual([7, 7, 7, 9, 9, 9]);
    const greyAlpha = await decodeImage({ ...size, data: Uint8Array.of(7, 255, 9, 0), channels: 2 });
    expect([...greyAlpha.data]).toEqual([7, 7, 7, 255, 255, 255]);
    const canvas = { ...size, data: Uint8ClampedArray.of(200, 100, 50, 128, 1, 2, 3, 255) };
    expect([...(await decodeImage(canvas)).data]).toEqual([227, 177, 152, 1, 2, 3]);
    expect(await imageSize(canvas)).toEqual(size);
  });
});

describe('decodeImage refuses', () => {
  it.each([
    ['no bytes', new Uint8Array(0), 'EmptyImage'],
    ['text', Buffer.from('not a picture at all'), 'UnknownImageFormat'],
    ['one byte', Uint8Array.of(0x89), 'UnknownImageFormat'],
    ['vector graphics without a size', Buffer.from('<svg>'), 'UndecodableImage'],
    ['a film', Buffer.from('\0\0\0\x18ftypmp42\0\0\0\0mp42isom'), 'UnknownImageFormat'],
    ['a signature alone', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), 'UndecodableImage'],
    ['an end after the size', Buffer.from('GIF89a\x10\0\x10\0', 'latin1'), 'UndecodableImage'],
  ])('%s', async (_, bytes, rule) => {
    await expect(decodeImage(bytes)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule });
    await expect(imageSize(bytes)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule });
  });

  it.each(['png', 'jpeg', 'webp', 'avif', 'gif'] as const)('a truncated %s', async (format) => {
    const noise = sharp({
      create: {
        width: 96,
        height: 96,
        channels: 3,
        background: 'black',
        noise: { type: 'gaussian', mean: 128, sigma: 40 },
      },
    });
    const bytes = await noise.toFormat(format).toBuffer();
    for (const share of [0.2, 0.6, 0.95]) {
      const part = bytes.subarray(0, Math.floor(bytes.length * share));
      await expect(decodeImage(part)).rejects.toMatchObject({
        code: 'CORRUPT_FILE',
        rule: 'UndecodableImage',
        path: 'image bytes',
      });
    }
  });

  it('a decompression bomb, based on its header', async () => {
    const small = await plain(40, 30).png().toBuffer();
    await expect(decodeImage(small, { limits: { maxPixels: 1199 } })).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      limit: 'maxPixels',
      maximum: 1199,
      received: 1200,
    });
    expect((await decodeImage(small, { limits: { maxPixels: 1200 } })).width).toBe(40);
    await expect(imageSize(small, { limits: { maxSidePixels: 39 } })).rejects.toMatchObject({
      limit: 'maxSidePixels',
      received: 40,
    });
    await expect(decodeImage(small, { limits: { maxFileBytes: 10 } })).rejects.toMatchObject({
      limit: 'maxFileBytes',
      received: small.length,
    });
    // A file of a few hundred bytes whose header declares 300 MB.
    const bomb = Buffer.from(small);
    bomb.writeUInt32BE(16_000, 16);
    bomb.writeUInt32BE(6300, 20);
    bomb.writeUInt32BE(crc32(bomb.subarray(12, 29)), 29);
    expect((await sharp(bomb, { limitInputPixels: false }).metadata()).width).toBe(16_000);
    await expect(decodeImage(bomb)).rejects.toMatchObject({ limit: 'maxPixels', received: 100_800_000 });
  });

  it('paths that are not files', async () => {
    await expect(decodeImage(join(folder, 'missing.png'))).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      reason: 'it does not exist',
    });
    await expect(decodeImage(folder)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await expect(decodeImage('https://example.com/a.png')).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  it.each([
    [{ width: 2, height: 2, data: new Uint8Array(11) }, 'data'],
    [{ width: 2, height: 2, data: new Uint8Array(12), channels: 4 as const }, 'data'],
    [{ width: 0, height: 2, data: new Uint8Array(0) }, 'width'],
    [{ width: 2, height: 1.5, data: new Uint8Array(9) }, 'height'],
    [{ width: 2, height: 2 } as never, 'data'],
    [{ width: 1, height: 1, data: new Float32Array(3) } as never, 'data'],
    [null as never, 'input'],
    [undefined as never, 'input'],
    [new ArrayBuffer(8) as never, 'width'],
  ])('pixels that do not match: %o', async (raw, argument) => {
    await expect(decodeImage(raw)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', argument });
  });

  it('invalid limits', async () => {
    const small = await plain(4, 4).png().toBuffer();
    for (const maxPixels of [0, -1, Number.NaN]) {
      await expect(decodeImage(small, { limits: { maxPixels } })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
        argument: 'maxPixels',
      });
    }
    expect((await decodeImage(small, { limits: { maxPixels: undefined } })).width).toBe(4);
  });

  it('to work for an aborted signal', async () => {
    const reason = new RangeError('enough');
    await expect(
      decodeImage(await plain(2, 2).png().toBuffer(), { signal: AbortSignal.abort(reason) }),
    ).rejects.toBe(reason);
  });
});
