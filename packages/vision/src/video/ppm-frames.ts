import { CorruptFileError } from '@markbase/core';
import { checkImageSize, type ImageLimits } from '../image/image-limits.js';
import type { RgbImage } from '../image/index.js';

/** `P6`, width, height and the largest value, each followed by white space. */
const HEADER = /^P6\s+(\d{1,9})\s+(\d{1,9})\s+255\s/;
const MOST_HEADER_BYTES = 64;

/**
 * Pictures of a stream of concatenated binary PPM files, regardless of how it is split into chunks.
 *
 * @param subject what errors name
 * @throws CorruptFileError when the stream is something else or ends within a picture, LimitExceededError
 */
export async function* ppmFrames(
  chunks: AsyncIterable<Uint8Array>,
  subject: string,
  limits: ImageLimits,
): AsyncGenerator<RgbImage, void> {
  let header = '';
  let frame: RgbImage | null = null;
  let filled = 0;
  for await (const chunk of chunks) {
    for (let at = 0; at < chunk.length; ) {
      if (frame === null) {
        header += String.fromCharCode(chunk[at++]!);
        frame = frameOf(header, subject, limits);
        filled = 0;
      } else {
        const part = chunk.subarray(at, at + frame.data.length - filled);
        frame.data.set(part, filled);
        filled += part.length;
        at += part.length;
      }
      if (frame !== null && filled === frame.data.length) {
        yield frame;
        frame = null;
        header = '';
      }
    }
  }
  if (frame !== null || header !== '') throw broken(subject, 'the decoder stopped within a frame');
}

/** Null while the header is not complete. */
function frameOf(header: string, subject: string, limits: ImageLimits): RgbImage | null {
  const found = HEADER.exec(header);
  if (found === null) {
    if (header.length < MOST_HEADER_BYTES) return null;
    throw broken(subject, 'the decoder returned something other than PPM pictures');
  }
  const [width, height] = [Number(found[1]), Number(found[2])];
  if (width === 0 || height === 0) throw broken(subject, 'the decoder returned a picture without pixels');
  checkImageSize(subject, { width, height }, limits);
  return { width, height, data: new Uint8Array(width * height * 3) };
}

function broken(path: string, reason: string): CorruptFileError {
  return new CorruptFileError({ rule: 'UndecodableVideo', path, reason });
}
