import { types } from 'node:util';
import { CorruptFileError, InvalidArgumentError } from '@markbase/core';
import { type AudioSource, isPcmAudio } from './audio-source.js';
import type { DecodeContext, SamplePiece } from './sound-decoder.js';

/** Largest sample that passes. Overdriven float files reach a few times 1; 16-bit integers passed by mistake reach thousands. */
const MAX_AMPLITUDE = 32;

/**
 * Refuses NaN, infinities and samples far outside [-1, 1].
 *
 * @param position of the first sample of the piece in the sound
 */
export function checkPiece(
  piece: SamplePiece,
  position: number,
  source: AudioSource,
  context: Pick<DecodeContext, 'source'>,
): void {
  for (const [channel, samples] of piece.channels.entries()) {
    const index = firstInvalid(samples);
    if (index === null) continue;
    const place = `sample ${position + index} of channel ${channel}`;
    if (isPcmAudio(source)) {
      throw invalidSample(`source.samples (${place})`, samples[index]);
    }
    const reason = `${place} is ${samples[index]}; expected numbers in [-1, 1]`;
    throw new CorruptFileError({ rule: 'InvalidSample', path: context.source, reason });
  }
}

/**
 * Refuses samples of the caller that are not a Float32Array, or are NaN, infinite or far outside [-1, 1].
 *
 * @throws InvalidArgumentError
 */
export function checkSamples(samples: Float32Array): void {
  if (!types.isFloat32Array(samples)) {
    throw new InvalidArgumentError({ argument: 'samples', expected: 'a Float32Array', received: samples });
  }
  const index = firstInvalid(samples);
  if (index !== null) throw invalidSample(`samples[${index}]`, samples[index]);
}

function invalidSample(argument: string, received: number | undefined): InvalidArgumentError {
  return new InvalidArgumentError({
    argument,
    expected: 'a number in [-1, 1]',
    received,
    hint: 'Divide 16-bit integers by 32768',
  });
}

function firstInvalid(samples: Float32Array): number | null {
  for (let index = 0; index < samples.length; index += 1) {
    const sample = samples[index]!;
    // The condition is false for NaN.
    if (!(sample >= -MAX_AMPLITUDE && sample <= MAX_AMPLITUDE)) return index;
  }
  return null;
}
