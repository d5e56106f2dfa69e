import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { soundFile } from '../../../test/sound-files.js';
import { id3Length, MpegFrames, parseMpegHeader } from './mpeg-frames.js';

const FILE = readFileSync(soundFile('stereo.mp3'));

function framesOf(...pieces: Uint8Array[]): { sizes: number[]; lostBytes: number; unfinishedBytes: number } {
  const frames = new MpegFrames();
  const sizes = pieces.flatMap((piece) => [...frames.push(piece)].map((frame) => frame.length));
  sizes.push(...[...frames.finish()].map((frame) => frame.length));
  return { sizes, lostBytes: frames.lostBytes, unfinishedBytes: frames.unfinishedBytes };
}

describe('parseMpegHeader', () => {
  it.each([
    [
      'fffb9064',
      { version: 1, layer: 3, sampleRate: 44_100, channelCount: 2, sampleCount: 1152, byteLength: 417 },
    ],
    [
      'fffb92c4',
      { version: 1, layer: 3, sampleRate: 44_100, channelCount: 1, sampleCount: 1152, byteLength: 418 },
    ],
    [
      'fff384c4',
      { version: 2, layer: 3, sampleRate: 24_000, channelCount: 1, sampleCount: 576, byteLength: 192 },
    ],
    [
      'ffe318c4',
      { version: 2.5, layer: 3, sampleRate: 8000, channelCount: 1, sampleCount: 576, byteLength: 72 },
    ],
    [
      'fffd8404',
      { version: 1, layer: 2, sampleRate: 48_000, channelCount: 2, sampleCount: 1152, byteLength: 384 },
    ],
    [
      'ffff1400',
      { version: 1, layer: 1, sampleRate: 48_000, channelCount: 2, sampleCount: 384, byteLength: 32 },
    ],
  ])('reads %s', (hex, expected) => {
    expect(parseMpegHeader(Buffer.from(hex, 'hex'))).toEqual(expected);
  });

  it.each([
    ['no sync', '00fb9064'],
    ['a reserved version', 'ffeb9064'],
    ['a reserved layer, as in AAC', 'fff19064'],
    ['a free bit rate', 'fffb0064'],
    ['an invalid bit rate', 'fffbf064'],
    ['a reserved sample rate', 'fffb9c64'],
    ['three bytes', 'fffb90'],
  ])('refuses %s', (_, hex) => {
    expect(parseMpegHeader(Buffer.from(hex, 'hex'))).toBeNull();
  });
});

describe('MpegFrames', () => {
  const whole = framesOf(FILE);

  it('splits a file into its frames, whatever the chunk size', () => {
    expect(whole.sizes.reduce((sum, size) => sum + size, 0)).toBe(FILE.length);
    expect(framesOf(...Array.from(FILE, (byte) => Uint8Array.of(byte)))).toEqual(whole);
  });

  it('skips tags and garbage', () => {
    const tag = Buffer.concat([Buffer.from('TAG'), Buffer.alloc(125, 0xff)]);
    expect(framesOf(FILE, tag)).toEqual(whole);
    const garbage = Buffer.concat([
      Buffer.alloc(100, 0xff),
      Buffer.from('fffb9064', 'hex'),
      Buffer.alloc(50),
    ]);
    expect(framesOf(garbage, FILE)).toEqual({ ...whole, lostBytes: garbage.length });
  });

  it('reports what is missing at the end', () => {
    expect(framesOf(FILE.subarray(0, -10)).unfinishedBytes).toBe(whole.sizes.at(-1)! - 10);
  });
});

describe('id3Length', () => {
  it('reads sizes in bytes of seven bits, including the footer', () => {
    const tag = Buffer.from('49443304000000000201', 'hex');
    expect(id3Length(tag)).toBe(10 + 257);
    tag[5] = 0x10;
    expect(id3Length(tag)).toBe(20 + 257);
    tag[8] = 0x80;
    expect(id3Length(tag)).toBe(0);
  });
});
