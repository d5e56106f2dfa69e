import type { PixelSize } from '@markbase/loader';
import { type ImageLimits, imageLimits } from './image-limits.js';
import type { ImageInput } from './image-source.js';
import { openImage } from './open-image.js';
import { type RawPixels, rgbFromRaw } from './raw-pixels.js';
import type { RgbImage } from './rgb-image.js';

/** How pictures are read. */
export interface DecodeOptions {
  /** Limits that differ from `IMAGE_LIMITS`. */
  readonly limits?: Partial<ImageLimits>;
  /** Called with a sentence about damage that did not matter, such as a missing end marker. */
  readonly onWarning?: (message: string) => void;
  /** Aborts between two steps, with the signal's reason. */
  readonly signal?: AbortSignal;
}

/**
 * A picture as 8-bit RGB: upright as its EXIF orientation says, transparent parts over white, the first frame of an
 * animation. CMYK, grey, palettes, 16 bits and embedded colour profiles become sRGB; CMYK without a profile by the plain formula.
 *
 * @param input the path or the bytes of a PNG, JPEG, WebP, GIF, AVIF, TIFF, BMP or SVG file, or pixels
 * @throws CorruptFileError for bytes that are not a picture, or are truncated; UnsupportedMediaError for pictures of other formats, such as
 *   HEIC; LimitExceededError before anything is decoded; FileAccessError; InvalidArgumentError for pixels that do not match their size
 */
export async function decodeImage(input: ImageInput, options: DecodeOptions = {}): Promise<RgbImage> {
  const limits = imageLimits(options.limits);
  options.signal?.throwIfAborted();
  if (isRaw(input)) return rgbFromRaw(input, limits);
  const { onWarning } = options;
  const opened = await openImage(input, { limits, ...(onWarning && { onWarning }) });
  options.signal?.throwIfAborted();
  const image = await opened.decode();
  options.signal?.throwIfAborted();
  return image;
}

/**
 * Size of a picture as it is shown, from its header alone: what `targetSize` and `countTokens` take.
 *
 * @throws what `decodeImage` throws, as far as the header tells
 */
export async function imageSize(input: ImageInput, options: DecodeOptions = {}): Promise<PixelSize> {
  const limits = imageLimits(options.limits);
  options.signal?.throwIfAborted();
  const { width, height } = isRaw(input)
    ? rgbFromRaw(input, limits)
    : (await openImage(input, { limits })).size;
  options.signal?.throwIfAborted();
  return { width, height };
}

function isRaw(input: ImageInput): input is RawPixels {
  return typeof input === 'object' && input !== null && !ArrayBuffer.isView(input);
}
