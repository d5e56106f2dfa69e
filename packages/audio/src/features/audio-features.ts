/** What the audio tower reads: log-mel frames of one segment. */
export interface MelFeatures {
  readonly kind: 'mel';
  /** Number of frames, including padding. */
  readonly frameCount: number;
  /** Frames whose last sample is real; they come first. */
  readonly validFrameCount: number;
  /** Mel bins of a frame: 128. */
  readonly width: number;
  /** `[frameCount, width]`, row-major; rows from `validFrameCount` on are zero. */
  readonly values: Float32Array;
}

/** What the encoder-free 12B reads: the samples themselves, in rows of 640. */
export interface FrameFeatures {
  readonly kind: 'frames';
  /** Number of frames, one per soft token. */
  readonly frameCount: number;
  /** Samples per row. */
  readonly width: number;
  /** `[frameCount, width]`; the last row is filled up with zeros. */
  readonly values: Float32Array;
}

/** Features of one segment, for either kind of model. */
export type AudioFeatures = MelFeatures | FrameFeatures;
