import type { RgbImage } from '../image/index.js';

/** A frame before it is resized. */
export interface DecodedFrame {
  /** Number of the frame in the video. */
  readonly index: number;
  /** When it is shown, from the start of the video. */
  readonly timestampSeconds: number;
  /** The frame as pixels. */
  readonly image: RgbImage;
}

/** A video whose frames have been counted, but not decoded. */
export interface OpenedVideo {
  /** When each frame [T] is shown, in seconds from the start of the video, rising. */
  readonly startSeconds: readonly number[];
  /** When the last frame ends. */
  readonly durationSeconds: number;
  /** Frames in order; those of `indices`, which rise. */
  frames(indices: readonly number[]): AsyncIterable<DecodedFrame>;
}
