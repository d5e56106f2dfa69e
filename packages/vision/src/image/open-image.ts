import { CorruptFileError } from '@markbase/core';
import type { PixelSize } from '@markbase/loader';
import type { Metadata } from 'sharp';
import { imageFormat } from './image-format.js';
import { checkImageSize, checkLimit, type ImageLimits } from './image-limits.js';
import { type EncodedImage, readEncodedImage } from './image-source.js';
import { loadSharp } from './load-sharp.js';
import type { RgbImage } from './rgb-image.js';

/** The longest time limit that the decoder library takes. */
const LONGEST_TIMEOUT_SECONDS = 3600;

/** An encoded picture whose header has been read and is within the limits. */
export interface OpenedImage {
  /** Its name in errors. */
  readonly subject: string;
  /** Size of the upright picture; of one frame of an animation. */
  readonly size: PixelSize;
  readonly frameCount: number;
  /** How long each frame is shown in milliseconds; empty for a still picture. */
  readonly delaysMs: readonly number[];
  /**
   * Decodes `count` frames from `first` on; they come as one picture, one frame below the other.
   *
   * @throws CorruptFileError when the decoder gives up
   */
  decode(first?: number, count?: number): Promise<RgbImage>;
}

/**
 * Reads the header of a picture; no pixel is decoded.
 *
 * @throws FileAccessError, CorruptFileError for bytes that are not a picture, LimitExceededError
 */
export async function openImage(input: string | Uint8Array, limits: ImageLimits): Promise<OpenedImage> {
  const source = await readEncodedImage(input, limits);
  const { subject, bytes } = source;
  if (imageFormat(bytes) === null) {
    throw new CorruptFileError({
      rule: 'UnknownImageFormat',
      path: subject,
      reason: 'it is not a PNG, JPEG, WebP, GIF or AVIF file',
    });
  }
  const metadata = await readHeader(source);
  const size = { width: metadata.autoOrient.width, height: metadata.autoOrient.height };
  checkImageSize(subject, size, limits);
  return {
    subject,
    size,
    frameCount: metadata.pages ?? 1,
    delaysMs: metadata.delay ?? [],
    decode: (first = 0, count = 1) => decodeFrames(source, first, count, limits),
  };
}

async function readHeader(source: EncodedImage): Promise<Metadata> {
  const sharp = await loadSharp();
  try {
    // Check the limit here: the decoder would call the picture corrupt.
    return await sharp(source.bytes, { limitInputPixels: false }).metadata();
  } catch (error) {
    throw undecodable(source, error);
  }
}

async function decodeFrames(
  source: EncodedImage,
  first: number,
  count: number,
  limits: ImageLimits,
): Promise<RgbImage> {
  const sharp = await loadSharp();
  // A still picture of some formats has no pages at all, so the options are left out for the first frame.
  const pages = first === 0 && count === 1 ? {} : { page: first, pages: count };
  // 'error' refuses truncated files, and lets pass what decoders merely warn about.
  const decoder = sharp(source.bytes, { failOn: 'error', limitInputPixels: limits.maxPixels, ...pages })
    .timeout({ seconds: Math.min(Math.ceil(limits.maxDecodeSeconds), LONGEST_TIMEOUT_SECONDS) })
    .autoOrient()
    .flatten({ background: '#ffffff' })
    .toColourspace('srgb')
    .raw({ depth: 'uchar' });
  const begin = performance.now();
  try {
    const { data, info } = await decoder.toBuffer({ resolveWithObject: true });
    return { width: info.width, height: info.height, data };
  } catch (error) {
    const isTimeout = error instanceof Error && error.message.startsWith('timeout');
    if (isTimeout) checkLimit(source.subject, 'maxDecodeSeconds', (performance.now() - begin) / 1000, limits);
    throw undecodable(source, error);
  }
}

/** The decoder reports several lines; the first one is enough. */
function undecodable({ subject }: EncodedImage, error: unknown): CorruptFileError {
  const reason = (error instanceof Error ? error.message : String(error)).split('\n')[0];
  return new CorruptFileError({
    rule: 'UndecodableImage',
    path: subject,
    reason: `the picture cannot be decoded: ${reason}`,
    cause: error,
  });
}
