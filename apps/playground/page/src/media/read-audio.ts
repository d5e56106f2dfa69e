import type { AudioAttachment } from './attachment.js';
import { toBase64 } from './base64.js';
import { encodeWav, peaksOf, SAMPLE_RATE_HZ } from './wav.js';

const PEAK_COUNT = 96;

/**
 * Reads a sound in any format that the browser supports, as one channel at 16 kHz.
 *
 * @throws TypeError if the browser cannot read it
 */
export async function readAudio(file: Blob, name: string): Promise<AudioAttachment> {
  // Decoding in a context with this rate also resamples.
  const context = new OfflineAudioContext(1, 1, SAMPLE_RATE_HZ);
  const decoded = await context.decodeAudioData(await file.arrayBuffer()).catch(() => {
    throw new TypeError(`The browser cannot read ${name} as a sound. Use WAV, MP3, FLAC or Ogg.`);
  });
  const samples = mixed(decoded);
  return {
    kind: 'audio',
    id: crypto.randomUUID(),
    name,
    wav: toBase64(encodeWav(samples)),
    sampleCount: samples.length,
    peaks: peaksOf(samples, PEAK_COUNT),
  };
}

/** The mean of all channels. */
function mixed(buffer: AudioBuffer): Float32Array {
  const sum = new Float32Array(buffer.length);
  for (let channel = 0; channel < buffer.numberOfChannels; channel++) {
    const data = buffer.getChannelData(channel);
    for (let index = 0; index < sum.length; index++) sum[index]! += data[index]! / buffer.numberOfChannels;
  }
  return sum;
}
