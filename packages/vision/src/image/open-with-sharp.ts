import { CorruptFileError, UnsupportedMediaError } from '@markbase/core';
import type { Metadata } from 'sharp';
import type { ImageFormat } from './image-format.js';
import { checkLimit, type ImageLimits } from './image-limits.js';
import type { EncodedImage } from './image-source.js';
import { loadSharp } from './load-sharp.js';
import type { OpenedImage, OpenImageOptions } from './opened-image.js';
import { plainCmyk } from './plain-cmyk.js';
import type { RgbImage } from './rgb-image.js';

/** The longest time limit that the decoder library takes. */
const LONGEST_TIMEOUT_SECONDS = 3600;
const END_OF_JPEG = Uint8Array.of(0xff, 0xd9);
const MARKER = 0xff;

/** A picture, its header, and how to decode it. */
interface SharpPicture {
  readonly source: EncodedImage;
  readonly format: ImageFormat | 'heic';
  readonly limits: ImageLimits;
  /** True for CMYK without a profile, which other viewers show by the plain formula. */
  readonly isPlainCmyk: boolean;
}

/** Opens a picture with libvips. HEIC works where the installed libvips has a decoder for it, which the one of npm has not. */
export async function openWithSharp(
  source: EncodedImage,
  format: ImageFormat | 'heic',
  { limits, onWarning }: OpenImageOptions,
): Promise<OpenedImage> {
  const metadata = await readHeader(source, format);
  const isPlainCmyk = metadata.space === 'cmyk' && !metadata.hasProfile;
  const picture = { source, format, limits, isPlainCmyk };
  return {
    subject: source.subject,
    size: { width: metadata.autoOrient.width, height: metadata.autoOrient.height },
    frameCount: metadata.pages ?? 1,
    delaysMs: metadata.delay ?? [],
    decode: (first = 0, count = 1) => decodeOrRepair(picture, first, count, onWarning),
  };
}

async function readHeader(source: EncodedImage, format: SharpPicture['format']): Promise<Metadata> {
  const sharp = await loadSharp();
  try {
    // Check the limit here: the decoder would call the picture corrupt.
    return await sharp(source.bytes, { limitInputPixels: false }).metadata();
  } catch (error) {
    throw undecodable(source, format, error);
  }
}

/** A JPEG that lacks nothing but its end marker is shown, with a warning: the decoder must not miss anything else. */
async function decodeOrRepair(
  picture: SharpPicture,
  first: number,
  count: number,
  onWarning: ((message: string) => void) | undefined,
): Promise<RgbImage> {
  const { source, format } = picture;
  try {
    // 'error' refuses truncated files, and lets pass what decoders merely warn about.
    return await decodeFrames(picture, first, count, 'error');
  } catch (error) {
    const ended = format === 'jpeg' && error instanceof CorruptFileError ? withEnd(source.bytes) : null;
    if (ended === null) throw error;
    const repaired = { ...picture, source: { ...source, bytes: ended } };
    const image = await decodeFrames(repaired, first, count, 'warning').catch(() => {
      throw error;
    });
    onWarning?.(`${source.subject}: the JPEG file lacks its end marker; the picture is complete`);
    return image;
  }
}

/** The bytes with an end marker; null if they have one. */
function withEnd(bytes: Uint8Array): Uint8Array | null {
  const [before, last] = [bytes.at(-2), bytes.at(-1)];
  if (before === MARKER && last === END_OF_JPEG[1]) return null;
  return Buffer.concat([last === MARKER ? bytes.subarray(0, -1) : bytes, END_OF_JPEG]);
}

async function decodeFrames(
  { source, format, limits, isPlainCmyk }: SharpPicture,
  first: number,
  count: number,
  failOn: 'error' | 'warning',
): Promise<RgbImage> {
  const sharp = await loadSharp();
  // A still picture of some formats has no pages at all, so the options are left out for the first frame.
  const pages = first === 0 && count === 1 ? {} : { page: first, pages: count };
  const decoder = sharp(source.bytes, { failOn, limitInputPixels: limits.maxPixels, ...pages })
    .timeout({ seconds: Math.min(Math.ceil(limits.maxDecodeSeconds), LONGEST_TIMEOUT_SECONDS) })
    .autoOrient();
  const colored = isPlainCmyk
    ? decoder.pipelineColourspace('cmyk').toColourspace('cmyk')
    : decoder.flatten({ background: '#ffffff' }).toColourspace('srgb');
  const begin = performance.now();
  try {
    const { data, info } = await colored.raw({ depth: 'uchar' }).toBuffer({ resolveWithObject: true });
    const { width, height, channels } = info;
    return { width, height, data: isPlainCmyk ? plainCmyk(data, channels) : data };
  } catch (error) {
    const isTimeout = error instanceof Error && error.message.startsWith('timeout');
    if (isTimeout) checkLimit(source.subject, 'maxDecodeSeconds', (performance.now() - begin) / 1000, limits);
    throw undecodable(source, format, error);
  }
}

/** The decoder reports several lines; the first one is enough. */
function undecodable(
  { subject }: EncodedImage,
  format: SharpPicture['format'],
  error: unknown,
): CorruptFileError | UnsupportedMediaError {
  const message = (error instanceof Error ? error.message : String(error)).split('\n')[0];
  if (format === 'heic') {
    const reason = 'this is HEIC, which the decoder of this machine does not read; save it as JPEG';
    return new UnsupportedMediaError({ media: 'image', source: subject, reason, cause: error });
  }
  return new CorruptFileError({
    rule: 'UndecodableImage',
    path: subject,
    reason: `the picture cannot be decoded: ${message}`,
    cause: error,
  });
}
