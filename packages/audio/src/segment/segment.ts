/** A stretch of audio that goes through the model in one piece. Segments of a recording touch: no gap, no overlap. */
export interface AudioSegment {
  /** 0 for the first segment of the recording. */
  readonly index: number;
  /** Position of the first sample in the recording, at 16 kHz. */
  readonly startSample: number;
  /** Start of the segment in the sound. */
  readonly startSeconds: number;
  /** End of the segment in the sound. */
  readonly endSeconds: number;
  /** Mono samples at 16 kHz, in [-1, 1]; the caller owns them. */
  readonly samples: Float32Array;
}
