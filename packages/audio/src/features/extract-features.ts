import { InvalidArgumentError, UnsupportedModelError } from '@markbase/core';
import { audioTokens, type ModelConfig } from '@markbase/loader';
import type { AudioFeatures } from './audio-features.js';
import { logMel } from './log-mel.js';
import { sampleFrames } from './sample-frames.js';

/** Minimum number of samples for a valid frame. */
const MIN_TOWER_SAMPLES = 161;

/**
 * The features of one segment for the model of a config: log-mel frames for a tower, rows of samples for 12B.
 *
 * @param samples mono, 16 kHz, in [-1, 1]
 * @throws UnsupportedModelError when the model takes no audio
 * @throws InvalidArgumentError when the samples are too few for one soft token, or too many for one piece
 */
export function extractFeatures(samples: Float32Array, config: ModelConfig): AudioFeatures {
  if (audioTokens(samples.length, config).softTokens === 0) throw tooShort(samples.length, config);
  if (config.family === 'gemma4') return logMel(samples);
  if (config.family === 'gemma4_unified' && config.audio !== null) {
    return sampleFrames(samples, config.audio.samplesPerToken);
  }
  throw new UnsupportedModelError({ modelType: config.modelType, reason: 'it takes no audio' });
}

function tooShort(sampleCount: number, config: ModelConfig): InvalidArgumentError {
  const least = config.family === 'gemma4' ? MIN_TOWER_SAMPLES : 1;
  return new InvalidArgumentError({
    argument: 'samples',
    expected: `enough audio for one frame of the model (at 16 kHz: ${least} samples)`,
    received: sampleCount,
  });
}
