import type { AudioSource } from '../src/decode/audio-source.js';
import { type DecodeOptions, decodeAudio } from '../src/decode/decode-audio.js';
import { joinSamples } from '../src/math/join-samples.js';

/** A whole decoded sound. */
export interface Decoded {
  readonly sampleRate: number;
  readonly channels: Float32Array[];
}

/** Decodes a sound completely. */
export async function decodeAll(source: AudioSource, options: DecodeOptions = {}): Promise<Decoded> {
  const pieces: Float32Array[][] = [];
  let sampleRate = 0;
  for await (const piece of decodeAudio(source, options)) {
    sampleRate = piece.sampleRate;
    piece.channels.forEach((samples, channel) => {
      pieces[channel] ??= [];
      pieces[channel].push(samples.slice());
    });
  }
  return { sampleRate, channels: pieces.map(joinSamples) };
}

/** Bytes in chunks, as from a socket. */
export async function* inPieces(bytes: Uint8Array, size: number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.slice(at, at + size);
}
