import { InvalidArgumentError, LimitExceededError } from '@markbase/core';
import type { PixelSize } from '@markbase/loader';

/** Limits for pictures; a picture beyond a limit is refused before its pixels are decoded. */
export interface ImageLimits {
  /** Maximum number of pixels: width * height. A decoded picture takes three bytes per pixel. */
  readonly maxPixels: number;
  /** Longest side in pixels. */
  readonly maxSidePixels: number;
  /** Maximum size of the encoded file in bytes. */
  readonly maxFileBytes: number;
  /** Longest time that the decoder may take: some small files take minutes. */
  readonly maxDecodeSeconds: number;
}

/** Default limits: a decoded picture stays below 300 MB. */
export const IMAGE_LIMITS: ImageLimits = {
  maxPixels: 100_000_000,
  maxSidePixels: 65_535,
  maxFileBytes: 256 * 1024 * 1024,
  maxDecodeSeconds: 60,
};

/**
 * All limits: the caller's, and defaults for the others.
 *
 * @throws InvalidArgumentError for a limit that is not above 0
 */
export function imageLimits(changes: Partial<ImageLimits> = {}): ImageLimits {
  const limits: { -readonly [Name in keyof ImageLimits]: number } = { ...IMAGE_LIMITS };
  for (const name of Object.keys(IMAGE_LIMITS) as (keyof ImageLimits)[]) {
    const value = changes[name] ?? limits[name];
    if (!(value > 0)) {
      throw new InvalidArgumentError({ argument: name, expected: 'a number above 0', received: value });
    }
    limits[name] = value;
  }
  return limits;
}

/**
 * Requires a size within the limits.
 *
 * @param subject for the error message: a path, or a description of the bytes
 * @throws LimitExceededError naming the limit
 */
export function checkImageSize(subject: string, { width, height }: PixelSize, limits: ImageLimits): void {
  checkLimit(subject, 'maxSidePixels', Math.max(width, height), limits);
  checkLimit(subject, 'maxPixels', width * height, limits);
}

/** Requires `received` to be at most the limit of this name. */
export function checkLimit(
  subject: string,
  limit: keyof ImageLimits,
  received: number,
  limits: ImageLimits,
): void {
  if (received <= limits[limit]) return;
  throw new LimitExceededError({ subject, limit, maximum: limits[limit], received });
}
