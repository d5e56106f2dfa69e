import { fixture } from '../../../fixtures/locate.js';
import type { PcmEncoding } from '../src/decode/chunks/pcm-encoding.js';
import { noise, sine, sweep } from './sounds.js';

/** The source of `fixtures/audio/mono.*`: a sweep of half a second at 22,050 Hz, 16 bits. */
export const MONO = { sampleRate: 22_050, bits: 16, channels: [sweep(11_025, 200, 3000, 22_050)] };

const tone = sine(4410, 440, 44_100, 0.4);
const hiss = noise(4410, 7, 0.02);
/** The source of `fixtures/audio/stereo.*`: a tone, and half of it under noise, for 0.1 s at 44,100 Hz, 24 bits. */
export const STEREO = {
  sampleRate: 44_100,
  bits: 24,
  channels: [tone, tone.map((value, index) => 0.5 * value + hiss[index]!)],
};

/** Path of an encoded sound. */
export function soundFile(name: string): string {
  return fixture(`audio/${name}`);
}

/** The samples of a lossless file with this many bits. */
export function rounded(samples: Float32Array, bits: number): Float32Array {
  const scale = 2 ** (bits - 1);
  // Adding 0 turns -0 into 0, because integers have no -0.
  return samples.map((sample) => (Math.round(sample * (scale - 1)) + 0) / scale);
}

/** A chunk of a RIFF file. */
export function chunk(name: string, content: Uint8Array): Buffer {
  const header = Buffer.alloc(8);
  header.write(name, 'latin1');
  header.writeUInt32LE(content.length, 4);
  return Buffer.concat([header, content, Buffer.alloc(content.length % 2)]);
}

/** A `fmt ` chunk. */
export function wavFormat(tag: number, channelCount: number, sampleRate: number, bits: number): Buffer {
  const content = Buffer.alloc(16);
  const frameBytes = (channelCount * Math.ceil(bits / 8)) & 0xffff;
  content.writeUInt16LE(tag, 0);
  content.writeUInt16LE(channelCount, 2);
  content.writeUInt32LE(sampleRate, 4);
  content.writeUInt32LE((sampleRate * frameBytes) % 2 ** 32, 8);
  content.writeUInt16LE(frameBytes, 12);
  content.writeUInt16LE(bits, 14);
  return chunk('fmt ', content);
}

/** A WAV file of chunks. */
export function wavFile(...chunks: Uint8Array[]): Buffer {
  return chunk('RIFF', Buffer.concat([Buffer.from('WAVE'), ...chunks]));
}

const WRITERS: Partial<
  Record<PcmEncoding, readonly [bytes: number, write: (b: Buffer, v: number, at: number) => void]>
> = {
  u8: [1, (b, v, at) => b.writeUInt8(Math.round(v * 127) + 128, at)],
  s8: [1, (b, v, at) => b.writeInt8(Math.round(v * 127), at)],
  s16le: [2, (b, v, at) => b.writeInt16LE(Math.round(v * 32_767), at)],
  s16be: [2, (b, v, at) => b.writeInt16BE(Math.round(v * 32_767), at)],
  s24le: [3, (b, v, at) => b.writeIntLE(Math.round(v * 8_388_607), at, 3)],
  s24be: [3, (b, v, at) => b.writeIntBE(Math.round(v * 8_388_607), at, 3)],
  s32le: [4, (b, v, at) => b.writeInt32LE(Math.round(v * 2_147_483_647), at)],
  s32be: [4, (b, v, at) => b.writeInt32BE(Math.round(v * 2_147_483_647), at)],
  f32le: [4, (b, v, at) => b.writeFloatLE(v, at)],
  f32be: [4, (b, v, at) => b.writeFloatBE(v, at)],
  f64le: [8, (b, v, at) => b.writeDoubleLE(v, at)],
  f64be: [8, (b, v, at) => b.writeDoubleBE(v, at)],
};

/** Interleaved samples in any encoding except A-law and mu-law. */
export function pcmBytes(channels: readonly Float32Array[], encoding: PcmEncoding): Buffer {
  const [sampleBytes, write] = WRITERS[encoding]!;
  const bytes = Buffer.alloc(channels[0]!.length * channels.length * sampleBytes);
  channels.forEach((samples, channel) => {
    for (const [index, value] of samples.entries()) {
      write(bytes, value, (index * channels.length + channel) * sampleBytes);
    }
  });
  return bytes;
}
