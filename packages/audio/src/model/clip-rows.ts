import { InvalidArgumentError } from '@markbase/core';
import type { AudioFeatures } from '../features/audio-features.js';
import { type Encoder, FRAMES_PER_ROW } from './encoder.js';

/** The input of an encoder for one clip. */
export interface ClipRows {
  /** Number of rows, and of resulting soft tokens. */
  readonly rows: number;
  /** [rows, features of a row] */
  readonly features: Float32Array;
  /** [rows, frames of a row]: 1 for valid frames, 0 for padding; null for an encoder without frames. */
  readonly mask: Float32Array | null;
}

/**
 * Lays the features of a clip out in rows of the encoder. The tower takes four mel frames per row, without padding frames;
 * the rest of the last row is masked.
 *
 * @throws InvalidArgumentError for features of another kind or width, or without frames
 */
export function clipRows(features: AudioFeatures, encoder: Encoder): ClipRows {
  const wanted = encoder.kind === 'tower' ? 'mel' : 'frames';
  const width = encoder.kind === 'tower' ? encoder.melBins : encoder.samplesPerToken;
  const frames = features.kind === 'mel' ? features.validFrameCount : features.frameCount;
  if (features.kind !== wanted || features.width !== width || frames < 1) {
    throw new InvalidArgumentError({
      argument: 'features',
      expected: `'${wanted}' features of width ${width}, at least one frame`,
      received: `'${features.kind}' features of width ${features.width}, ${frames} frames`,
    });
  }
  if (encoder.kind === 'frames') return { rows: frames, features: features.values, mask: null };
  const rows = Math.ceil(frames / FRAMES_PER_ROW);
  const padded = new Float32Array(rows * FRAMES_PER_ROW * width);
  padded.set(features.values.subarray(0, frames * width));
  const mask = Float32Array.from({ length: rows * FRAMES_PER_ROW }, (_, frame) => (frame < frames ? 1 : 0));
  return { rows, features: padded, mask };
}
