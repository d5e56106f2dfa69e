import { InvalidArgumentError, type OptionNames } from '@markbase/core';
import { AUDIO_SAMPLE_RATE_HZ, MAX_AUDIO_SAMPLES } from '@markbase/loader';

/** How audio is cut into segments. */
export interface SegmentOptions {
  /** Longest segment in seconds, 1 to 3,600; default 30, which is also the most that E2B and E4B take. */
  readonly maxSeconds?: number;
  /**
   * Seconds before the limit in which to look for the quietest place; at most half of `maxSeconds`, which is also the
   * minimum length of a segment. Default: a third of `maxSeconds`.
   */
  readonly searchSeconds?: number;
  /** What to do with audio that is longer than `maxSeconds`: cut it (`'split'`, the default), or fail. */
  readonly longer?: 'split' | 'refuse';
}

/** The names of `SegmentOptions`. */
export const SEGMENT_OPTIONS: OptionNames<SegmentOptions> = {
  maxSeconds: true,
  searchSeconds: true,
  longer: true,
};

/** Segment options in samples, after checks. */
export interface SegmentLimits {
  readonly maxSamples: number;
  readonly searchSamples: number;
  readonly longer: 'split' | 'refuse';
}

const DEFAULT_SEARCH_SHARE = 1 / 3;
const LONGEST_SECONDS = 3_600;

/** @throws InvalidArgumentError when an option is out of range */
export function segmentLimits(options: SegmentOptions): SegmentLimits {
  const { maxSeconds = MAX_AUDIO_SAMPLES / AUDIO_SAMPLE_RATE_HZ, longer = 'split' } = options;
  check('maxSeconds', maxSeconds, 1, LONGEST_SECONDS);
  const searchSeconds = options.searchSeconds ?? maxSeconds * DEFAULT_SEARCH_SHARE;
  check('searchSeconds', searchSeconds, 0.25, maxSeconds / 2);
  if (longer !== 'split' && longer !== 'refuse') {
    throw new InvalidArgumentError({ argument: 'longer', expected: '"split" or "refuse"', received: longer });
  }
  return {
    maxSamples: Math.floor(maxSeconds * AUDIO_SAMPLE_RATE_HZ),
    searchSamples: Math.floor(searchSeconds * AUDIO_SAMPLE_RATE_HZ),
    longer,
  };
}

function check(argument: string, seconds: number, min: number, max: number): void {
  if (seconds >= min && seconds <= max) return;
  throw new InvalidArgumentError({
    argument,
    expected: `a number of seconds from ${min} to ${max}`,
    received: seconds,
  });
}
