import { setImmediate } from 'node:timers/promises';
import type { PixelSize } from '@markbase/loader';
import { resampleAxis } from './resample-axis.js';
import { Resampler, reach } from './resampler.js';
import type { RgbImage } from './rgb-image.js';

/** Longest time that a cooperative resize blocks the event loop. */
const TURN_MS = 10;

/**
 * Antialiased bicubic resize of 8-bit pixels, width first, then height, each rounded to bytes (docs/gemma4.md section 3.1):
 * the same bytes as the reference's.
 *
 * A picture that already has the size is returned unchanged.
 */
export function resizeImage(image: RgbImage, size: PixelSize): RgbImage {
  const steps = resizeSteps(image, size);
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/**
 * Like `resizeImage`, but lets the event loop run every ten milliseconds.
 *
 * @param signal stops between two turns
 * @throws the signal's reason
 */
export async function resizeImageInTurns(
  image: RgbImage,
  size: PixelSize,
  signal?: AbortSignal,
): Promise<RgbImage> {
  const steps = resizeSteps(image, size);
  let turnEnd = performance.now() + TURN_MS;
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() < turnEnd) continue;
    await setImmediate();
    signal?.throwIfAborted();
    turnEnd = performance.now() + TURN_MS;
  }
}

function* resizeSteps(image: RgbImage, { width, height }: PixelSize): Generator<void, RgbImage> {
  if (width === image.width && height === image.height) return image;
  const resampler = new Resampler();
  const across = resampleAxis(image.width, width);
  const down = resampleAxis(image.height, height);
  const rowBytes = width * 3;
  const between = resampler.reserve(Math.max(image.height, reach(down)) * rowBytes);
  if (width === image.width) resampler.write(between, image.data);
  else yield* resampler.columns(image.data, image.height, across, between);
  if (height === image.height) return { width, height, data: resampler.read(between, height * rowBytes) };
  const target = resampler.reserve(height * rowBytes);
  yield* resampler.rows(between, rowBytes, down, target);
  return { width, height, data: resampler.read(target, height * rowBytes) };
}
