import { InvalidArgumentError } from '@markbase/core';
import { checkRate } from '../resample/resampler.js';
import type { PcmAudio } from './audio-source.js';
import { MAX_CHANNELS } from './decode-errors.js';
import type { SamplePiece } from './sound-decoder.js';

const PIECE_SAMPLES = 65_536;

/** Checks samples in memory and splits them into pieces, which are views. */
export function* pcmPieces(source: PcmAudio): Generator<SamplePiece> {
  const { sampleRate } = source;
  const channels = source.samples instanceof Float32Array ? [source.samples] : source.samples;
  checkChannels(channels);
  checkRate('source.sampleRate', sampleRate);
  const length = channels[0]!.length;
  if (length === 0) {
    throw new InvalidArgumentError({
      argument: 'source.samples',
      expected: 'at least one sample',
      received: 0,
    });
  }
  for (let at = 0; at < length; at += PIECE_SAMPLES) {
    yield { sampleRate, channels: channels.map((samples) => samples.subarray(at, at + PIECE_SAMPLES)) };
  }
}

function checkChannels(channels: readonly Float32Array[]): void {
  const isList = Array.isArray(channels) && channels.every((samples) => samples instanceof Float32Array);
  if (!isList || channels.length < 1 || channels.length > MAX_CHANNELS) {
    throw new InvalidArgumentError({
      argument: 'source.samples',
      expected: `a Float32Array, or 1 to ${MAX_CHANNELS} of them`,
      received: isList ? `${channels.length} arrays` : channels,
    });
  }
  const lengths = new Set(channels.map((samples) => samples.length));
  if (lengths.size > 1) {
    throw new InvalidArgumentError({
      argument: 'source.samples',
      expected: 'channels of equal length',
      received: [...lengths],
    });
  }
}
