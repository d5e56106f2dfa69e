import { InvalidArgumentError } from '@markbase/core';
import { checkImageSize, type ImageLimits } from './image-limits.js';
import type { RgbImage } from './rgb-image.js';

/** Pixels of the caller, such as the `ImageData` of a canvas. */
export interface RawPixels {
  /** Pixels per row. */
  readonly width: number;
  /** Number of rows. */
  readonly height: number;
  /** [height, width, channels], 8 bits each, row-major; alpha is not multiplied in. */
  readonly data: Uint8Array | Uint8ClampedArray;
  /** 1 grey, 2 grey and alpha, 3 RGB, 4 RGB and alpha; by default derived from the length of `data`. */
  readonly channels?: 1 | 2 | 3 | 4;
}

/**
 * Pixels as an RGB picture, transparent ones over white. RGB data is not copied.
 *
 * @throws InvalidArgumentError for sides or lengths that do not match, LimitExceededError for too many pixels
 */
export function rgbFromRaw(raw: RawPixels, limits: ImageLimits): RgbImage {
  const { width, height } = raw;
  checkSide('width', width);
  checkSide('height', height);
  checkImageSize('raw pixels', raw, limits);
  const channels = channelsOf(raw);
  const data = new Uint8Array(raw.data.buffer, raw.data.byteOffset, raw.data.byteLength);
  return { width, height, data: channels === 3 ? data : toRgb(data, channels, width * height) };
}

function toRgb(data: Uint8Array, channels: number, pixels: number): Uint8Array {
  const rgb = new Uint8Array(pixels * 3);
  const hasAlpha = channels % 2 === 0;
  const step = channels > 2 ? 1 : 0;
  for (let from = 0, to = 0; to < rgb.length; from += channels, to += 3) {
    const alpha = hasAlpha ? data[from + channels - 1]! : 255;
    for (let channel = 0; channel < 3; channel++) {
      rgb[to + channel] = Math.round((data[from + channel * step]! * alpha + 255 * (255 - alpha)) / 255);
    }
  }
  return rgb;
}

function channelsOf({ data, width, height, channels }: RawPixels): number {
  if (!ArrayBuffer.isView(data) || data.BYTES_PER_ELEMENT !== 1) {
    throw new InvalidArgumentError({ argument: 'data', expected: 'bytes', received: typeof data });
  }
  const found = data.length / (width * height);
  if ([1, 2, 3, 4].includes(found) && (channels === undefined || channels === found)) return found;
  const expected = channels === undefined ? `1 to 4 times ${width * height}` : width * height * channels;
  throw new InvalidArgumentError({
    argument: 'data',
    expected: `${expected} bytes for ${width} x ${height} pixels`,
    received: data.length,
  });
}

function checkSide(argument: string, pixels: number): void {
  if (Number.isSafeInteger(pixels) && pixels >= 1) return;
  throw new InvalidArgumentError({
    argument,
    expected: 'a whole number of pixels, from 1',
    received: pixels,
  });
}
