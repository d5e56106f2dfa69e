import type { AudioSegment } from './segment.js';
import type { SegmentOptions } from './segment-options.js';
import { Segmenter } from './segmenter.js';

/**
 * Cuts samples in memory into segments; see `Segmenter` for where.
 *
 * @param samples mono, 16 kHz
 * @throws InvalidArgumentError when an option is out of range, or the audio too long for `longer: 'refuse'`
 */
export function splitAudio(samples: Float32Array, options: SegmentOptions = {}): AudioSegment[] {
  const segmenter = new Segmenter(options);
  return [...segmenter.push(samples), ...segmenter.finish()];
}
