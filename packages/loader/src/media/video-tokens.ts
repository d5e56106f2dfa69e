import { InvalidArgumentError } from '@markbase/core';
import { type ImageTokens, imageTokens, type PatchGeometry, type PixelSize } from './image-tokens.js';

/** Maximum number of frames taken from one video. */
export const MAX_VIDEO_FRAMES = 32;
/** Default budget of a frame. */
export const DEFAULT_VIDEO_FRAME_TOKENS = 70;
/** Frame rate to assume when it is unknown; if it is wrong, so are the timestamps. */
export const DEFAULT_FRAMES_PER_SECOND = 24;

/** A video before it is decoded. */
export interface VideoSource extends PixelSize {
  /** T: frames of the whole video. */
  readonly frameCount: number;
  /** Frames per second of the file; default 24. */
  readonly framesPerSecond?: number;
}

/** What a video becomes. */
export interface VideoTokens {
  /** Frames that are taken, by their number in the video. */
  readonly frameIndices: readonly number[];
  /** `MM:SS` in front of each frame. */
  readonly timestamps: readonly string[];
  /** What each frame becomes; all have the same size. */
  readonly frame: ImageTokens;
  /** Rows of all frames together. */
  readonly softTokens: number;
  /**
   * Soft tokens and delimiters of all frames. The timestamps and the spaces around them are not included: they are ordinary
   * text for the model's tokenizer.
   */
  readonly frameTokens: number;
  /** The ordinary text in front of each frame: the timestamp and a space, from the second frame on after a space. */
  readonly texts: readonly string[];
}

/**
 * Frames, timestamps and soft tokens of a video.
 *
 * Frames `floor(i * T / 32)` for i < 32, or all when there are fewer; each is an image with a budget of 70.
 *
 * @throws InvalidArgumentError for counts that are not whole numbers from 1, or a frame rate that is not above 0
 */
export function videoTokens(
  video: VideoSource,
  budget: number = DEFAULT_VIDEO_FRAME_TOKENS,
  geometry?: PatchGeometry,
): VideoTokens {
  const { frameCount, framesPerSecond = DEFAULT_FRAMES_PER_SECOND } = video;
  const frameIndices = videoFrameIndices(frameCount);
  if (!(framesPerSecond > 0 && framesPerSecond < Infinity)) {
    throw new InvalidArgumentError({
      argument: 'framesPerSecond',
      expected: 'a number above 0',
      received: framesPerSecond,
    });
  }
  const timestamps = frameIndices.map((index) => timestamp(index / framesPerSecond));
  const frame = imageTokens(video, budget, geometry);
  return {
    frameIndices,
    timestamps,
    frame,
    softTokens: frameIndices.length * frame.softTokens,
    frameTokens: frameIndices.length * frame.promptTokens,
    texts: timestamps.map((time, index) => (index === 0 ? `${time} ` : ` ${time} `)),
  };
}

/**
 * Frames that are taken from a video, by their number: `floor(i * T / n)` for i < n, n = the smaller of T and `maxFrames`.
 *
 * @param frameCount T, from 1
 * @param maxFrames from 1; 32 by default
 * @throws InvalidArgumentError for counts that are not whole numbers from 1
 */
export function videoFrameIndices(frameCount: number, maxFrames: number = MAX_VIDEO_FRAMES): number[] {
  checkCount('frameCount', frameCount);
  checkCount('maxFrames', maxFrames);
  const taken = Math.min(frameCount, maxFrames);
  return Array.from({ length: taken }, (_, index) => Math.floor(index * (frameCount / taken)));
}

function checkCount(argument: string, count: number): void {
  if (Number.isSafeInteger(count) && count >= 1) return;
  throw new InvalidArgumentError({ argument, expected: 'a whole number of frames, from 1', received: count });
}

/** Minutes and seconds, rounded down, with at least two digits each. */
function timestamp(seconds: number): string {
  const whole = Math.floor(seconds);
  const digits = (value: number): string => String(value).padStart(2, '0');
  return `${digits(Math.floor(whole / 60))}:${digits(whole % 60)}`;
}
