import { ContextLengthError, InvalidArgumentError, LimitExceededError } from '@markbase/core';
import { AUDIO_SAMPLE_RATE_HZ } from '@markbase/loader';
import { type AudioSource, isRepeatable } from '../decode/audio-source.js';
import { decodeAudio } from '../decode/decode-audio.js';
import { TOTAL_SECONDS } from '../decode/decode-errors.js';
import type { AudioSegment } from '../segment/segment.js';
import { type ReadSegmentsOptions, readSegments } from './read-segments.js';

/** How many soft tokens fit, and how much sound each takes. */
export interface TokenRoom {
  readonly maxTokens: number;
  /** Samples at 16 kHz that become one soft token. */
  readonly samplesPerToken: number;
}

/**
 * The segments of a sound that has at most `maxTokens` soft tokens.
 *
 * A longer sound is refused before its first segment: by the length that its header states, and then by decoding it once
 * without keeping anything, at most to the limit, because headers may lie. A source that can only be read once is read up to the
 * limit.
 *
 * @throws ContextLengthError, and what `readSegments` throws; InvalidArgumentError for a number of tokens that is not above 0
 */
export async function* segmentsWithin(
  source: AudioSource,
  { onProgress, ...options }: ReadSegmentsOptions,
  { maxTokens, samplesPerToken }: TokenRoom,
): AsyncGenerator<AudioSegment> {
  if (!(maxTokens > 0)) {
    throw new InvalidArgumentError({
      argument: 'maxTokens',
      expected: 'a number above 0',
      received: maxTokens,
    });
  }
  const secondsPerToken = samplesPerToken / AUDIO_SAMPLE_RATE_HZ;
  const room = maxTokens * secondsPerToken;
  const maxTotalSeconds = Math.min(room, options.maxTotalSeconds ?? Number.POSITIVE_INFINITY);
  const limited = { ...options, maxTotalSeconds };
  try {
    if (isRepeatable(source)) for await (const _ of decodeAudio(source, limited));
    yield* readSegments(source, { ...limited, ...(onProgress && { onProgress }) });
  } catch (error) {
    if (!(error instanceof LimitExceededError) || error.limit !== TOTAL_SECONDS || error.maximum !== room) {
      throw error;
    }
    throw new ContextLengthError({
      promptTokens: Math.max(maxTokens + 1, Math.floor(error.received / secondsPerToken)),
      maxTokens,
      isLeast: true,
      subject: `the sound of ${error.received.toFixed(1)} s`,
      room: `${room.toFixed(1)} s of sound`,
    });
  }
}
