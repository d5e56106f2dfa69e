import { describe, expect, it } from 'vitest';
import { decodeAll, inPieces } from '../../../test/collect.js';
import { pcmBytes, rounded } from '../../../test/sound-files.js';
import { noise } from '../../../test/sounds.js';
import type { PcmEncoding } from './pcm-encoding.js';

const CHANNELS = [noise(500, 1, 0.9), noise(500, 2, 0.9)];

/** A chunk with the most significant byte first. */
function chunk(name: string, content: Uint8Array, size = content.length): Buffer {
  const head = Buffer.alloc(8);
  head.write(name, 'latin1');
  head.writeUInt32BE(size, 4);
  return Buffer.concat([head, content, Buffer.alloc(content.length % 2)]);
}

/** An AIFF file; AIFF-C with a compression type. `size`: what the data chunk states. */
function aiff(encoding: PcmEncoding, bits: number, type?: string, size?: number): Buffer {
  const common = Buffer.alloc(18);
  common.writeUInt16BE(CHANNELS.length, 0);
  common.writeUInt32BE(500, 2);
  common.writeUInt16BE(bits, 6);
  // 44,100 = 0xac44 * 2^-15 * 2^15.
  common.writeUInt16BE(16_383 + 15, 8);
  common.writeUInt16BE(44_100, 10);
  const extra = type === undefined ? [] : [Buffer.from(type, 'latin1'), Buffer.from([0, 0])];
  const data = Buffer.concat([Buffer.alloc(8), pcmBytes(CHANNELS, encoding)]);
  const parts = [
    Buffer.from(type === undefined ? 'AIFF' : 'AIFC'),
    chunk('FVER', Buffer.alloc(3)),
    chunk('COMM', Buffer.concat([common, ...extra])),
    chunk('SSND', data, size),
    chunk('NAME', Buffer.from('after')),
  ];
  return chunk('FORM', Buffer.concat(parts));
}

/** A CAF file. `size`: what the data chunk states; -1 for a recorder that was not stopped. */
function caf(
  encoding: PcmEncoding,
  bits: number,
  flags: number,
  { type = 'lpcm', size }: { type?: string; size?: number } = {},
): Buffer {
  const description = Buffer.alloc(32);
  description.writeDoubleBE(22_050, 0);
  description.write(type, 8, 'latin1');
  description.writeUInt32BE(flags, 12);
  description.writeUInt32BE((CHANNELS.length * bits) / 8, 16);
  description.writeUInt32BE(1, 20);
  description.writeUInt32BE(CHANNELS.length, 24);
  description.writeUInt32BE(bits, 28);
  const data = Buffer.concat([Buffer.alloc(4), pcmBytes(CHANNELS, encoding)]);
  const part = (name: string, content: Buffer, stated = content.length) => {
    const head = Buffer.alloc(12);
    head.write(name, 'latin1');
    head.writeBigInt64BE(BigInt(stated), 4);
    return Buffer.concat([head, content]);
  };
  const file = Buffer.from([0x63, 0x61, 0x66, 0x66, 0, 1, 0, 0]);
  return Buffer.concat([
    file,
    part('desc', description),
    part('free', Buffer.alloc(5)),
    part('data', data, size),
  ]);
}

describe('AIFF', () => {
  it.each<[PcmEncoding, number, string | undefined]>([
    ['s8', 8, undefined],
    ['s16be', 16, undefined],
    ['s24be', 24, undefined],
    ['s32be', 32, 'NONE'],
    ['s16le', 16, 'sowt'],
    ['s16be', 16, 'twos'],
    ['u8', 8, 'raw '],
    ['s24be', 24, 'in24'],
    ['f32be', 32, 'fl32'],
    ['f64be', 64, 'FL64'],
  ])('reads %s of %d bits, compression %s', async (encoding, bits, type) => {
    const expected = encoding.startsWith('f') ? CHANNELS : CHANNELS.map((samples) => rounded(samples, bits));
    const file = aiff(encoding, bits, type);
    for (const source of [file, inPieces(file, 1), inPieces(file, 97)]) {
      expect(await decodeAll(source)).toEqual({ sampleRate: 44_100, channels: expected });
    }
  });

  it('reads what is there if the length is wrong, and refuses a truncated file', async () => {
    const expected = CHANNELS.map((samples) => rounded(samples, 16));
    const file = aiff('s16be', 16);
    const whole = file.subarray(0, file.indexOf('NAME'));
    whole.writeUInt32BE(0xffff_ffff, whole.indexOf('SSND') + 4);
    expect((await decodeAll(whole)).channels).toEqual(expected);
    await expect(decodeAll(aiff('s16be', 16).subarray(0, 900))).rejects.toMatchObject({
      rule: 'TruncatedAudio',
    });
  });

  it('names an encoding that is not read', async () => {
    await expect(decodeAll(aiff('s16be', 16, 'ima4'), { ffmpeg: false })).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: expect.stringMatching(
        /^AIFF with 16 bits per sample in the encoding "ima4" is not decoded without ffmpeg/,
      ),
    });
  });
});

describe('CAF', () => {
  it.each<[PcmEncoding, number, number]>([
    ['s8', 8, 0],
    ['s16be', 16, 0],
    ['s16le', 16, 2],
    ['s24le', 24, 2],
    ['s32be', 32, 0],
    ['f32le', 32, 3],
    ['f64be', 64, 1],
  ])('reads %s', async (encoding, bits, flags) => {
    const expected = encoding.startsWith('f') ? CHANNELS : CHANNELS.map((samples) => rounded(samples, bits));
    const file = caf(encoding, bits, flags);
    for (const source of [file, inPieces(file, 3), caf(encoding, bits, flags, { size: -1 })]) {
      expect(await decodeAll(source)).toEqual({ sampleRate: 22_050, channels: expected });
    }
  });

  it('names a codec that is not read, and refuses contradictions', async () => {
    const aac = decodeAll(caf('s16be', 16, 0, { type: 'aac ' }), { ffmpeg: false });
    await expect(aac).rejects.toMatchObject({
      reason: expect.stringMatching(/^Core Audio with AAC is not decoded/),
    });
    const file = caf('s16be', 16, 0);
    file.writeUInt32BE(7, file.indexOf('lpcm') + 8);
    await expect(decodeAll(file)).rejects.toMatchObject({ rule: 'InvalidCafFormat' });
    await expect(decodeAll(caf('s16be', 16, 0).subarray(0, 900))).rejects.toMatchObject({
      rule: 'TruncatedAudio',
    });
  });
});
