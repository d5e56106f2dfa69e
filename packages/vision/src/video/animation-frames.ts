import { type ImageLimits, imageLimits } from '../image/image-limits.js';
import { openImage } from '../image/open-image.js';
import type { OpenedVideo } from './video-frame.js';

/** Pixels decoded at once: a decoder starts at the first frame every time, so few, long runs are fast. */
const RUN_PIXELS = 25_000_000;
/** The time that viewers assume for frames without one. */
const DEFAULT_DELAY_MS = 100;

/**
 * The frames of an animated GIF or WebP; a still picture is a video of one frame.
 *
 * Frame i is shown when those before it were shown as long as the file says: at the sum of their delays.
 *
 * @throws as `decodeImage`
 */
export async function openAnimation(
  input: string | Uint8Array,
  options: { limits?: Partial<ImageLimits>; signal?: AbortSignal } = {},
): Promise<OpenedVideo> {
  const limits = imageLimits(options.limits);
  const opened = await openImage(input, { limits });
  const { width, height } = opened.size;
  const { times, durationSeconds } = startTimes(opened.frameCount, opened.delaysMs);
  const runFrames = Math.max(1, Math.floor(Math.min(RUN_PIXELS, limits.maxPixels) / (width * height)));
  return {
    startSeconds: times,
    durationSeconds,
    async *frames(indices) {
      for (let next = 0; next < indices.length; ) {
        options.signal?.throwIfAborted();
        const first = indices[next]!;
        const run = indices.slice(next).filter((index) => index < first + runFrames);
        const strip = await opened.decode(first, run.at(-1)! - first + 1);
        const frameBytes = width * height * 3;
        for (const index of run) {
          const data = strip.data.subarray((index - first) * frameBytes, (index - first + 1) * frameBytes);
          yield { index, timestampSeconds: times[index]!, image: { width, height, data } };
        }
        next += run.length;
      }
    },
  };
}

/** Start of each frame, and the end of the last one, in seconds. */
function startTimes(frameCount: number, delaysMs: readonly number[]) {
  let milliseconds = 0;
  const times = Array.from({ length: frameCount }, (_, index) => {
    const start = milliseconds;
    milliseconds += delaysMs[index] || DEFAULT_DELAY_MS;
    return start / 1000;
  });
  return { times, durationSeconds: milliseconds / 1000 };
}
