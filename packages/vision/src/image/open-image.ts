import { CorruptFileError, UnsupportedMediaError } from '@markbase/core';
import { parseBmpHeader } from './bmp/bmp-header.js';
import { decodeBmp } from './bmp/decode-bmp.js';
import { foreignFormat, type ImageFormat, imageFormat } from './image-format.js';
import { checkImageSize, checkLimit } from './image-limits.js';
import { type EncodedImage, readEncodedImage } from './image-source.js';
import { openWithSharp } from './open-with-sharp.js';
import type { OpenedImage, OpenImageOptions } from './opened-image.js';

/** Largest SVG file: it is text, and a decoder keeps all of it as a tree. */
const MAX_SVG_BYTES = 4 * 1024 * 1024;

/**
 * Reads the header of a picture; no pixel is decoded.
 *
 * @throws FileAccessError, CorruptFileError for bytes that are not a picture, UnsupportedMediaError for pictures of other formats,
 * LimitExceededError
 */
export async function openImage(input: string | Uint8Array, options: OpenImageOptions): Promise<OpenedImage> {
  const { limits } = options;
  const source = await readEncodedImage(input, limits);
  const format = formatOf(source);
  if (format === 'svg')
    checkLimit(source.subject, 'maxFileBytes', source.bytes.length, {
      ...limits,
      maxFileBytes: Math.min(limits.maxFileBytes, MAX_SVG_BYTES),
    });
  const opened = format === 'bmp' ? openBmp(source) : await openWithSharp(source, format, options);
  checkImageSize(source.subject, opened.size, limits);
  return opened;
}

function openBmp({ subject, bytes }: EncodedImage): OpenedImage {
  const header = parseBmpHeader(bytes, subject);
  return {
    subject,
    size: { width: header.width, height: header.height },
    frameCount: 1,
    delaysMs: [],
    decode: async () => decodeBmp(bytes, header, subject),
  };
}

function formatOf({ subject, bytes }: EncodedImage): ImageFormat | 'heic' {
  const format = imageFormat(bytes);
  if (format !== null) return format;
  const name = foreignFormat(bytes);
  if (name === 'HEIC') return 'heic';
  const expected = 'expected PNG, JPEG, WebP, GIF, AVIF, TIFF, BMP or SVG';
  if (name !== null) {
    const reason = `this is ${name}; ${expected}`;
    throw new UnsupportedMediaError({ media: 'image', source: subject, reason });
  }
  throw new CorruptFileError({
    rule: 'UnknownImageFormat',
    path: subject,
    reason: `it is not a picture of a known format; ${expected}`,
  });
}
