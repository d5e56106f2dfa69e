import { checkOptionNames, type OptionNames } from '@markbase/core';
import type { AudioSource } from '../decode/audio-source.js';
import { DECODE_OPTIONS, type DecodeOptions } from '../decode/decode-audio.js';
import type { AudioSegment } from '../segment/segment.js';
import { SEGMENT_OPTIONS, type SegmentOptions } from '../segment/segment-options.js';
import { Segmenter } from '../segment/segmenter.js';
import { readMono } from './read-mono.js';

/** How a sound file is read and cut. */
export interface ReadSegmentsOptions extends DecodeOptions, SegmentOptions {}

/** The names of `ReadSegmentsOptions`. */
export const READING_OPTIONS: OptionNames<ReadSegmentsOptions> = { ...DECODE_OPTIONS, ...SEGMENT_OPTIONS };

/**
 * Decodes a sound, mixes it down, resamples it to 16 kHz and cuts it into segments. Each segment is yielded as soon as it
 * is complete; memory use is that of a segment or two, however long the sound is.
 *
 * @throws what `decodeAudio` and `Segmenter` throw
 */
export async function* readSegments(
  source: AudioSource,
  options: ReadSegmentsOptions = {},
): AsyncGenerator<AudioSegment> {
  checkOptionNames(options, READING_OPTIONS);
  const segmenter = new Segmenter(options);
  for await (const samples of readMono(source, options)) yield* segmenter.push(samples);
  yield* segmenter.finish();
}
