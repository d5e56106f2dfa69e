import { unifiedAudioTokens } from '@markbase/loader';
import type { FrameFeatures } from './audio-features.js';

/**
 * Samples in rows of `width`, as the encoder-free 12B reads them; zeros fill up the last row.
 *
 * @param samples mono, 16 kHz, in [-1, 1]
 * @param width samples of a row: `audio.samplesPerToken` of the config
 */
export function sampleFrames(samples: Float32Array, width = 640): FrameFeatures {
  const frameCount = unifiedAudioTokens(samples.length, width).softTokens;
  const values = new Float32Array(frameCount * width);
  values.set(samples);
  return { kind: 'frames', frameCount, width, values };
}
