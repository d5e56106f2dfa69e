import type { SoftTokens } from '@markbase/metal-runtime';

/** Soft tokens of a stretch of audio. */
export interface EncodedSegment {
  /** 0 for the first segment of the recording. */
  readonly index: number;
  readonly startSeconds: number;
  readonly endSeconds: number;
  readonly softTokens: SoftTokens;
}
