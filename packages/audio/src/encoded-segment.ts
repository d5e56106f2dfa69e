import type { SoftTokens } from '@markbase/metal-runtime';

/** Soft tokens of a stretch of audio. */
export interface EncodedSegment {
  /** 0 for the first segment of the recording. */
  readonly index: number;
  /** Start of the segment in the sound. */
  readonly startSeconds: number;
  /** End of the segment in the sound. */
  readonly endSeconds: number;
  /** Its soft tokens [S, D]. */
  readonly softTokens: SoftTokens;
}
