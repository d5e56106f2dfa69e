import type { RgbImage } from '../rgb-image.js';
import { type BmpHeader, corruptBmp } from './bmp-header.js';
import { readIndices } from './bmp-indices.js';

const WHITE = 255;

/**
 * The pixels of a BMP file, transparent parts over white.
 *
 * @throws CorruptFileError when pixels are missing
 */
export function decodeBmp(bytes: Uint8Array, header: BmpHeader, subject: string): RgbImage {
  const { width, height, bitsPerPixel, storage, dataOffset } = header;
  const pixels = bytes.subarray(dataOffset);
  const rowBytes = Math.ceil((width * bitsPerPixel) / 32) * 4;
  const isCompressed = storage === 'rle8' || storage === 'rle4';
  if (!isCompressed && pixels.length < rowBytes * (height - 1) + Math.ceil((width * bitsPerPixel) / 8)) {
    throw corruptBmp(subject, `it has ${pixels.length} of ${rowBytes * height} bytes of pixels`);
  }
  const rows =
    bitsPerPixel <= 8 ? paletteRows(pixels, header, subject) : trueColorRows(pixels, header, rowBytes);
  return { width, height, data: header.isTopDown ? rows : upsideDown(rows, width * 3, height) };
}

function paletteRows(pixels: Uint8Array, header: BmpHeader, subject: string): Uint8Array {
  const indices = readIndices(pixels, header, subject);
  const data = new Uint8Array(3 * indices.length);
  for (const [at, index] of indices.entries()) {
    data[3 * at] = header.palette[3 * index]!;
    data[3 * at + 1] = header.palette[3 * index + 1]!;
    data[3 * at + 2] = header.palette[3 * index + 2]!;
  }
  return data;
}

function trueColorRows(pixels: Uint8Array, header: BmpHeader, rowBytes: number): Uint8Array {
  const { width, height, bitsPerPixel, masks } = header;
  const data = new Uint8Array(3 * width * height);
  const pixelBytes = bitsPerPixel / 8;
  const [red, green, blue, alpha] = masks.map(channelReader);
  for (let row = 0, at = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const from = row * rowBytes + column * pixelBytes;
      let value = 0;
      for (let byte = pixelBytes - 1; byte >= 0; byte--) value = value * 256 + pixels[from + byte]!;
      const opacity = masks[3] === 0 ? 1 : alpha!(value) / WHITE;
      for (const read of [red!, green!, blue!]) {
        data[at++] = Math.round(read(value) * opacity + WHITE * (1 - opacity));
      }
    }
  }
  return data;
}

/** Reads the bits of a mask as a number from 0 to 255. */
function channelReader(mask: number): (value: number) => number {
  if (mask === 0) return () => 0;
  const shift = 31 - Math.clz32(mask & -mask);
  const highest = mask >>> shift;
  return (value) => Math.round((((value & mask) >>> shift) * WHITE) / highest);
}

function upsideDown(rows: Uint8Array, rowBytes: number, height: number): Uint8Array {
  const turned = new Uint8Array(rows.length);
  for (let row = 0; row < height; row++) {
    turned.set(rows.subarray(row * rowBytes, (row + 1) * rowBytes), (height - 1 - row) * rowBytes);
  }
  return turned;
}
