import { videoFrameIndices } from '@markbase/loader';

/** Share of the duration by which a frame may begin late, for the rounding of times. */
const TOLERANCE = 1e-6;

/**
 * Indices of at most `maxFrames` frames, evenly spaced in time: those that are shown at 0, d, 2d, … A frame that is shown for longer than d
 * is taken once. At a constant rate these are the frames at even distances (docs/gemma4.md section 3.6).
 *
 * @param startSeconds [T], rising
 * @throws InvalidArgumentError when `maxFrames` is not a whole number from 1
 */
export function evenFrames(
  startSeconds: readonly number[],
  durationSeconds: number,
  maxFrames?: number,
): number[] {
  const byIndex = videoFrameIndices(startSeconds.length, maxFrames);
  if (byIndex.length === startSeconds.length) return byIndex;
  const indices = new Set<number>();
  let index = 0;
  for (let number = 0; number < byIndex.length; number++) {
    const time = (number / byIndex.length + TOLERANCE) * durationSeconds;
    while (index + 1 < startSeconds.length && startSeconds[index + 1]! <= time) index++;
    indices.add(index);
  }
  return [...indices];
}
