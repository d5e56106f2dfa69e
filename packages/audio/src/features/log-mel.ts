import { InvalidArgumentError } from '@markbase/core';
import { audioTowerTokens, MAX_AUDIO_SAMPLES } from '@markbase/loader';
import type { MelFeatures } from './audio-features.js';
import { MEL_BINS, MEL_STEP, MelSpectrum } from './mel-spectrum.js';

/**
 * Log-mel features of one segment, as the tower of E2B and E4B expects them.
 *
 * Frame i looks at `samples[160(i-1), 160(i+1))`, zeros in front of the first sample, and is valid when sample `160(i+1)` exists.
 * Rows of frames that are not valid are zero.
 *
 * @param samples mono, 16 kHz, at most 480,000: longer audio has to be split
 * @throws InvalidArgumentError when it is longer
 */
export function logMel(samples: Float32Array): MelFeatures {
  if (samples.length > MAX_AUDIO_SAMPLES) {
    throw new InvalidArgumentError({
      argument: 'samples',
      expected: `at most ${MAX_AUDIO_SAMPLES} samples (30 s at 16 kHz)`,
      received: samples.length,
      hint: 'Split longer audio with splitAudio',
    });
  }
  const { frameCount, validFrameCount } = audioTowerTokens(samples.length);
  const values = new Float32Array(frameCount * MEL_BINS);
  const spectrum = new MelSpectrum();
  for (let frame = 0; frame < validFrameCount; frame += 1) {
    spectrum.writeRow(samples, (frame - 1) * MEL_STEP, values, frame * MEL_BINS);
  }
  return { kind: 'mel', frameCount, validFrameCount, width: MEL_BINS, values };
}
