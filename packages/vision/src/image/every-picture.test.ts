import sharp from 'sharp';
import { describe, expect, it } from 'vitest';
import { decodeImage, imageSize } from './decode-image.js';

const SIZE = { width: 6, height: 5 };
const COLOUR = { r: 200, g: 100, b: 50 };

function plain() {
  return sharp({ create: { ...SIZE, channels: 3, background: COLOUR } });
}

/** The pixels of a picture as rows of colours. */
async function rowsOf(bytes: Uint8Array): Promise<number[][][]> {
  const { width, height, data } = await decodeImage(bytes);
  return Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (_, x) => [...data.subarray((y * width + x) * 3, (y * width + x) * 3 + 3)]),
  );
}

/** A BMP file with a header of 40 bytes. */
function bmp(fields: {
  width: number;
  height: number;
  bits: number;
  storage?: number;
  palette?: number[][];
  masks?: number[];
  pixels: number[];
}): Buffer {
  const palette = Buffer.from((fields.palette ?? []).flatMap(([r, g, b]) => [b!, g!, r!, 0]));
  const masks = Buffer.alloc(4 * (fields.masks?.length ?? 0));
  fields.masks?.forEach((mask, index) => {
    masks.writeUInt32LE(mask, 4 * index);
  });
  const head = Buffer.alloc(54);
  head.write('BM');
  head.writeUInt32LE(54 + masks.length + palette.length, 10);
  head.writeUInt32LE(40, 14);
  head.writeInt32LE(fields.width, 18);
  head.writeInt32LE(fields.height, 22);
  head.writeUInt16LE(1, 26);
  head.writeUInt16LE(fields.bits, 28);
  head.writeUInt32LE(fields.storage ?? 0, 30);
  head.writeUInt32LE(fields.palette?.length ?? 0, 46);
  return Buffer.concat([head, masks, palette, Buffer.from(fields.pixels)]);
}

const RED = [255, 0, 0];
const GREEN = [0, 255, 0];
const BLUE = [0, 0, 255];
const BLACK = [0, 0, 0];

describe('BMP', () => {
  it.each<[string, Parameters<typeof bmp>[0], number[][][]]>([
    // Rows come from the bottom up, and fill whole words of 32 bits.
    ['24 bits', { width: 1, height: 2, bits: 24, pixels: [0, 0, 255, 9, 255, 0, 0, 9] }, [[BLUE], [RED]]],
    [
      '24 bits, the top row first',
      { width: 1, height: -2, bits: 24, pixels: [0, 0, 255, 9, 255, 0, 0, 9] },
      [[RED], [BLUE]],
    ],
    ['32 bits', { width: 2, height: 1, bits: 32, pixels: [0, 255, 0, 7, 0, 0, 255, 7] }, [[GREEN, RED]]],
    ['16 bits of five each', { width: 2, height: 1, bits: 16, pixels: [0x1f, 0, 0, 0x7c] }, [[BLUE, RED]]],
    [
      '16 bits with masks',
      {
        width: 2,
        height: 1,
        bits: 16,
        storage: 3,
        masks: [0xf800, 0x07e0, 0x1f],
        pixels: [0xe0, 7, 0, 0xf8],
      },
      [[GREEN, RED]],
    ],
    [
      '32 bits with transparency',
      {
        width: 1,
        height: 1,
        bits: 32,
        storage: 6,
        masks: [0xff, 0xff00, 0xff_0000, 0xff00_0000],
        pixels: [255, 0, 0, 0x80],
      },
      [[[255, 127, 127]]],
    ],
    ['8 bits', { width: 2, height: 1, bits: 8, palette: [RED, BLUE], pixels: [1, 0, 0, 0] }, [[BLUE, RED]]],
    [
      '4 bits',
      { width: 3, height: 1, bits: 4, palette: [RED, BLUE, GREEN], pixels: [0x12, 0x00, 0, 0] },
      [[BLUE, GREEN, RED]],
    ],
    [
      '1 bit',
      { width: 3, height: 1, bits: 1, palette: [BLACK, GREEN], pixels: [0b1010_0000, 0, 0, 0] },
      [[GREEN, BLACK, GREEN]],
    ],
    [
      'runs of 8 bits, literals and a move',
      {
        width: 4,
        height: 2,
        bits: 8,
        storage: 1,
        palette: [BLACK, RED, BLUE],
        pixels: [2, 1, 0, 2, 1, 0, 1, 2, 0, 0, 0, 3, 2, 1, 2, 0, 0, 1],
      },
      [
        [BLUE, RED, BLUE, BLACK],
        [RED, RED, BLACK, BLUE],
      ],
    ],
    [
      'runs of 4 bits',
      {
        width: 5,
        height: 1,
        bits: 4,
        storage: 2,
        palette: [BLACK, RED, BLUE],
        pixels: [3, 0x12, 0, 3, 0x20, 0x10, 0, 1],
      },
      [[RED, BLUE, RED, BLUE, BLACK]],
    ],
  ])('of %s', async (_, fields, rows) => {
    expect(await rowsOf(bmp(fields))).toEqual(rows);
    expect(await imageSize(bmp(fields))).toEqual({ width: fields.width, height: Math.abs(fields.height) });
  });

  it.each([
    ['without its pixels', bmp({ width: 9, height: 9, bits: 24, pixels: [1, 2] }), /2 of 252 bytes/],
    [
      'with runs that end',
      bmp({ width: 9, height: 9, bits: 8, storage: 1, pixels: [9, 1] }),
      /end too early/,
    ],
    ['of 7 bits', bmp({ width: 9, height: 9, bits: 7, pixels: [] }), /of 7 bits/],
    [
      'with half a header',
      bmp({ width: 9, height: 9, bits: 24, pixels: [] }).subarray(0, 30),
      /ends after 30 bytes/,
    ],
  ])('is refused %s', async (_, bytes, reason) => {
    const error = { code: 'CORRUPT_FILE', rule: 'UndecodableImage', message: expect.stringMatching(reason) };
    await expect(decodeImage(bytes)).rejects.toMatchObject(error);
  });

  it('is refused above the limits, based on its header', async () => {
    const large = bmp({ width: 70_000, height: 1, bits: 24, pixels: [] });
    await expect(decodeImage(large)).rejects.toMatchObject({
      code: 'LIMIT_EXCEEDED',
      limit: 'maxSidePixels',
    });
  });
});

describe('TIFF and SVG', () => {
  it.each(['none', 'lzw', 'deflate', 'jpeg'] as const)('TIFF, compression %s', async (compression) => {
    const [row] = await rowsOf(await plain().tiff({ compression, quality: 100 }).toBuffer());
    expect(row).toHaveLength(6);
    for (const [channel, value] of [200, 100, 50].entries()) {
      expect(Math.abs(row![0]![channel]! - value)).toBeLessThanOrEqual(2);
    }
  });

  it.each([
    ['', ''],
    ['\ufeff<?xml version="1.0"?>\n<!-- <svg> -->\n<!DOCTYPE svg>\n', ''],
    // A file that it names is not read.
    ['', '<image href="file:///etc/hostname" width="4" height="3"/>'],
  ])('SVG after %j', async (head, inner) => {
    const svg = `${head}<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3"><rect width="4" height="3" fill="#c86432"/>${inner}</svg>`;
    const rows = await rowsOf(Buffer.from(svg));
    expect(rows).toEqual(Array(3).fill(Array(4).fill([200, 100, 50])));
  });

  it('SVG that is too large as text', async () => {
    const svg = Buffer.from(
      `<svg xmlns="http://www.w3.org/2000/svg" width="4" height="3">${' '.repeat(2 ** 22)}</svg>`,
    );
    await expect(decodeImage(svg)).rejects.toMatchObject({ code: 'LIMIT_EXCEEDED', limit: 'maxFileBytes' });
  });
});

describe('CMYK without a profile', () => {
  it('is shown by the plain formula', async () => {
    const jpeg = await plain().toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer();
    expect(await sharp(jpeg).metadata()).toMatchObject({ space: 'cmyk', hasProfile: false });
    const stored = await sharp(jpeg).pipelineColourspace('cmyk').toColourspace('cmyk').raw().toBuffer();
    const [cyan, magenta, yellow, black] = stored;
    const plainly = [cyan, magenta, yellow].map((ink) => Math.round(((255 - ink!) * (255 - black!)) / 255));
    expect((await rowsOf(jpeg))[0]![0]).toEqual(plainly);
    const byProfile = await sharp(jpeg).toColourspace('srgb').raw().toBuffer();
    expect(
      Math.max(...plainly.map((value, channel) => Math.abs(value - byProfile[channel]!))),
    ).toBeGreaterThan(8);
  });
});

describe('a JPEG without its end marker', () => {
  it('is read, with a warning, if nothing else is missing', async () => {
    // The same bytes in every run: some pictures end so that the decoder does not notice.
    const pixels = Uint8Array.from(
      { length: 64 * 48 * 3 },
      (_, index) => (index * index * 31 + index * 7) % 251,
    );
    const whole = await sharp(pixels, { raw: { width: 64, height: 48, channels: 3 } })
      .jpeg()
      .toBuffer();
    const expected = await decodeImage(whole);
    for (const cut of [1, 2]) {
      const warnings: string[] = [];
      const options = { onWarning: (text: string) => warnings.push(text) };
      expect(await decodeImage(whole.subarray(0, -cut), options)).toEqual(expected);
      expect(warnings).toEqual(['image bytes: the JPEG file lacks its end marker; the picture is complete']);
    }
    for (const cut of [6, 40]) {
      await expect(decodeImage(whole.subarray(0, -cut))).rejects.toMatchObject({ rule: 'UndecodableImage' });
    }
  });
});

describe('pictures that are not read', () => {
  it.each([
    [
      '\0\0\0\x18ftypheic\0\0\0\0mif1heic',
      /this is HEIC, which the decoder of this machine does not read; save it as JPEG/,
    ],
    ['\0\0\0\fJXL \r\n', /this is JPEG XL; expected PNG/],
    ['8BPS\0\x01', /a Photoshop file/],
    ['%PDF-1.4', /PDF/],
    ['\0\0\x01\0', /a Windows icon/],
  ])('are named: %j', async (head, reason) => {
    const bytes = Buffer.from(head.padEnd(40, '\0'), 'latin1');
    const error = { code: 'UNSUPPORTED_MEDIA', media: 'image', reason: expect.stringMatching(reason) };
    await expect(decodeImage(bytes)).rejects.toMatchObject(error);
  });
});
