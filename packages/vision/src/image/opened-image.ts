import type { PixelSize } from '@markbase/loader';
import type { ImageLimits } from './image-limits.js';
import type { RgbImage } from './rgb-image.js';

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

/** How a picture is opened. */
export interface OpenImageOptions {
  readonly limits: ImageLimits;
  /** Called with a sentence about damage that did not matter. */
  readonly onWarning?: (message: string) => void;
}
