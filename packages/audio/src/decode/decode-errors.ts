import { CorruptFileError, LimitExceededError, UnsupportedMediaError } from '@markbase/core';
import { SAMPLE_RATE_LIMITS } from '../resample/resampler.js';
import type { DecodeContext } from './sound-decoder.js';

/** Maximum number of channels of a file; the largest cinema layouts have 24. */
export const MAX_CHANNELS = 64;

/** The option that limits the length of a sound. */
export const TOTAL_SECONDS = 'maxTotalSeconds';

/** What is decoded without a further program, for messages. */
export const READABLE = 'WAV, AIFF, FLAC, MP3, Ogg or WebM with Opus or Vorbis, or uncompressed CAF';

/** Throws the error for a file that violates its format. */
export function corrupt(context: DecodeContext, rule: string, reason: string, offsetBytes?: number): never {
  throw new CorruptFileError({ rule, path: context.source, reason, offsetBytes });
}

/** Throws if the file is truncated, unless the caller accepts that. */
export function checkTruncated(context: DecodeContext, reason: string, offsetBytes?: number): void {
  if (context.acceptTruncated) return;
  corrupt(context, 'TruncatedAudio', `${reason}: the file is incomplete; get the whole one`, offsetBytes);
}

/** Throws the error for a format or codec that is recognised but not supported. */
export function unsupported(context: DecodeContext, reason: string): never {
  throw new UnsupportedMediaError({ media: 'audio', source: context.source, reason });
}

/** A sound that is not decoded here, but that ffmpeg may decode; what a caller sees if it must not. */
export class ForeignSoundError extends UnsupportedMediaError {
  /** What the file is, such as "MP4" or "WAV with codec 2". */
  readonly need: string;

  constructor(source: string, need: string) {
    super({ media: 'audio', source, reason: `${need} is not decoded without ffmpeg; use ${READABLE}` });
    this.need = need;
  }
}

/** Throws the error for a format or codec that ffmpeg may decode. */
export function foreign(context: DecodeContext, need: string): never {
  throw new ForeignSoundError(context.source, need);
}

/** Refuses a sound that is longer than the caller allows: by the length that its header states, or as decoded so far. */
export function checkLength(context: DecodeContext, sampleCount: number, sampleRate: number): void {
  const seconds = sampleCount / sampleRate;
  if (seconds <= context.maxSeconds) return;
  throw new LimitExceededError({
    subject: context.source,
    limit: TOTAL_SECONDS,
    maximum: context.maxSeconds,
    received: seconds,
  });
}

/** Refuses implausible sample rates and channel counts. */
export function checkStream(context: DecodeContext, sampleRate: number, channelCount: number): void {
  const { min, max } = SAMPLE_RATE_LIMITS;
  if (!(Number.isInteger(sampleRate) && sampleRate >= min && sampleRate <= max)) {
    unsupported(context, `a sample rate of ${sampleRate} Hz; expected ${min} to ${max} Hz`);
  }
  if (!(Number.isInteger(channelCount) && channelCount >= 1 && channelCount <= MAX_CHANNELS)) {
    unsupported(context, `${channelCount} channels; expected 1 to ${MAX_CHANNELS}`);
  }
}
