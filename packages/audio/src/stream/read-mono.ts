import { UnsupportedMediaError } from '@markbase/core';
import { AUDIO_SAMPLE_RATE_HZ } from '@markbase/loader';
import { type AudioSource, sourceName } from '../decode/audio-source.js';
import { type DecodeOptions, decodeAudio } from '../decode/decode-audio.js';
import { joinSamples } from '../math/join-samples.js';
import { downmix } from '../resample/downmix.js';
import { Resampler } from '../resample/resampler.js';

/**
 * Samples of any sound as the models take them: one channel at 16 kHz, piece by piece.
 *
 * @throws what `decodeAudio` throws
 */
export async function* readMono(
  source: AudioSource,
  options: DecodeOptions = {},
): AsyncGenerator<Float32Array> {
  let resampler: Resampler | null = null;
  for await (const { sampleRate, channels } of decodeAudio(source, options)) {
    resampler ??= new Resampler(sampleRate, AUDIO_SAMPLE_RATE_HZ);
    if (sampleRate !== resampler.inputRate) {
      const reason = `its sample rate changes from ${resampler.inputRate} to ${sampleRate} Hz`;
      throw new UnsupportedMediaError({ media: 'audio', source: sourceName(source), reason });
    }
    yield resampler.push(downmix(channels));
  }
  if (resampler !== null) yield resampler.finish();
}

/**
 * All samples of a sound as the models take them: one channel at 16 kHz. An hour takes 230 MB; `readSegments` needs little
 * memory.
 *
 * @throws what `decodeAudio` throws
 */
export async function readAudio(source: AudioSource, options: DecodeOptions = {}): Promise<Float32Array> {
  const pieces: Float32Array[] = [];
  for await (const piece of readMono(source, options)) pieces.push(piece);
  return joinSamples(pieces);
}
