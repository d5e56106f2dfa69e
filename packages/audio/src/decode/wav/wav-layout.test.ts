import { describe, expect, it } from 'vitest';
import { decodeAll, inPieces } from '../../../test/collect.js';
import { chunk, MONO, pcmBytes, rounded, wavFile, wavFormat } from '../../../test/sound-files.js';
import { noise } from '../../../test/sounds.js';

const CHANNELS = [noise(500, 1, 0.9), noise(500, 2, 0.9)];

describe('WAV', () => {
  it.each([
    ['s16le', 1, 16],
    ['s24le', 1, 24],
    ['s32le', 1, 32],
    ['u8', 1, 8],
    ['f32le', 3, 32],
    ['f64le', 3, 64],
  ] as const)('reads %s', async (encoding, tag, bits) => {
    const file = wavFile(wavFormat(tag, 2, 44_100, bits), chunk('data', pcmBytes(CHANNELS, encoding)));
    const expected = tag === 3 ? CHANNELS : CHANNELS.map((samples) => rounded(samples, bits));
    for (const source of [file, inPieces(file, 1), inPieces(file, 97)]) {
      expect(await decodeAll(source)).toEqual({ sampleRate: 44_100, channels: expected });
    }
  });

  it('reads A-law and mu-law by their tables', async () => {
    const codes = Uint8Array.of(0xd5, 0x55, 0x80, 0xaa, 0x2a);
    const aLaw = await decodeAll(wavFile(wavFormat(6, 1, 8000, 8), chunk('data', codes)));
    expect([...aLaw.channels[0]!].map((value) => value * 32_768)).toEqual([8, -8, 5504, 32_256, -32_256]);
    const muCodes = Uint8Array.of(0xff, 0x7f, 0x80, 0x00, 0xf0);
    const muLaw = await decodeAll(wavFile(wavFormat(7, 1, 8000, 8), chunk('data', muCodes)));
    expect([...muLaw.channels[0]!].map((value) => value * 32_768)).toEqual([0, -0, 32_124, -32_124, 120]);
  });

  it('reads the extensible form', async () => {
    const guid = Buffer.from('0100000000001000800000aa00389b71', 'hex');
    const format = Buffer.concat([
      wavFormat(0xfffe, 1, 22_050, 16).subarray(8),
      Buffer.from([22, 0, 16, 0, 4, 0, 0, 0]),
      guid,
    ]);
    const data = chunk('data', pcmBytes(MONO.channels, 's16le'));
    const made = await decodeAll(wavFile(chunk('fmt ', format), data));
    expect(made.channels).toEqual([rounded(MONO.channels[0]!, 16)]);
    const foreign = Buffer.concat([format.subarray(0, 24), Buffer.alloc(16, 9)]);
    await expect(decodeAll(wavFile(chunk('fmt ', foreign), data), { ffmpeg: false })).rejects.toThrow(
      /vendor-specific codec/,
    );
  });

  it('skips other chunks, including odd sizes, and everything after the samples', async () => {
    const list = chunk('LIST', Buffer.alloc(7, 65));
    const samples = pcmBytes([CHANNELS[0]!], 's16le');
    const file = wavFile(list, wavFormat(1, 1, 8000, 16), list, chunk('data', samples), list);
    const made = await decodeAll(inPieces(file, 11));
    expect(made.channels).toEqual([rounded(CHANNELS[0]!, 16)]);
  });

  it.each([0xffff_ffff, 0xffff_ffd3, 0x8000_0000, 0x8000_0024, 0x7fff_f000, 0x7fff_ffff])(
    'reads to the end if a pipe left the length at %d',
    async (size) => {
      const file = wavFile(wavFormat(1, 1, 8000, 16), chunk('data', pcmBytes([CHANNELS[0]!], 's16le')));
      file.writeUInt32LE(size, file.indexOf('data') + 4);
      expect((await decodeAll(file)).channels[0]).toEqual(rounded(CHANNELS[0]!, 16));
    },
  );

  it.each([
    ['the size of the header', 44],
    ['the size of the file', 36],
    ['an odd byte', 1],
  ])('reads what is there if the length is too large by %s', async (_, excess) => {
    const file = wavFile(wavFormat(1, 1, 8000, 16), chunk('data', pcmBytes([CHANNELS[0]!], 's16le')));
    file.writeUInt32LE(1000 + excess, file.indexOf('data') + 4);
    for (const source of [file, inPieces(file, 31)]) {
      expect((await decodeAll(source)).channels[0]).toEqual(rounded(CHANNELS[0]!, 16));
    }
  });

  it('reads what is there if the length contradicts that of the file, or was never filled in', async () => {
    const file = wavFile(wavFormat(1, 1, 8000, 16), chunk('data', pcmBytes([CHANNELS[0]!], 's16le')));
    const at = file.indexOf('data') + 4;
    file.writeUInt32LE(5000, at);
    expect((await decodeAll(file)).channels[0]).toEqual(rounded(CHANNELS[0]!, 16));
    file.writeUInt32LE(0, at);
    file.writeUInt32LE(36, 4);
    expect((await decodeAll(file)).channels[0]).toEqual(rounded(CHANNELS[0]!, 16));
  });

  it('is truncated if it ends well before the end that it states twice', async () => {
    const file = wavFile(wavFormat(1, 1, 8000, 16), chunk('data', pcmBytes([CHANNELS[0]!], 's16le')));
    await expect(decodeAll(file.subarray(0, 600))).rejects.toMatchObject({
      rule: 'TruncatedAudio',
      reason: 'the WAV file ends 444 bytes before its samples do: the file is incomplete; get the whole one',
    });
    expect((await decodeAll(file.subarray(0, 600), { truncated: 'accept' })).channels[0]).toHaveLength(278);
  });

  it('reads lengths of more than 4 GiB', async () => {
    const sizes = Buffer.alloc(28);
    sizes.writeBigUInt64LE(1000n, 8);
    const data = Buffer.concat([pcmBytes([CHANNELS[0]!], 's16le'), Buffer.from('LISTtrailing')]);
    const file = wavFile(chunk('ds64', sizes), wavFormat(1, 1, 8000, 16), chunk('data', data));
    file.write('RF64');
    file.writeUInt32LE(0xffff_ffff, file.indexOf('data') + 4);
    expect((await decodeAll(file)).channels[0]).toEqual(rounded(CHANNELS[0]!, 16));
  });

  it.each([
    ['ADPCM', wavFormat(2, 1, 8000, 4), /codec 2 \(Microsoft ADPCM\)/],
    ['a rate of 5 Hz', wavFormat(1, 1, 5, 16), /5 Hz; expected 1000 to 768000/],
    ['a rate of 4 GHz', wavFormat(1, 1, 4_000_000_000, 16), /4000000000 Hz/],
    ['no channels', wavFormat(1, 0, 8000, 16), /0 channels; expected 1 to 64/],
    ['65 channels', wavFormat(1, 65, 8000, 16), /65 channels/],
    ['40 bits', wavFormat(1, 1, 8000, 40), /40 bits per sample/],
    ['float of 16 bits', wavFormat(3, 1, 8000, 16), /16 bits per sample/],
    ['a short format', chunk('fmt ', Buffer.alloc(4)), /4 bytes, expected 16/],
  ])('refuses %s', async (_, format, message) => {
    await expect(
      decodeAll(wavFile(format, chunk('data', Buffer.alloc(100))), { ffmpeg: false }),
    ).rejects.toThrow(message);
  });

  it('refuses samples without a format, and files without samples', async () => {
    await expect(decodeAll(wavFile(chunk('data', Buffer.alloc(4))), { ffmpeg: false })).rejects.toThrow(
      /before their format/,
    );
    await expect(decodeAll(wavFile(wavFormat(1, 1, 8000, 16)))).rejects.toThrow(/ends before its samples/);
    const empty = wavFile(wavFormat(1, 1, 8000, 16), chunk('data', Buffer.alloc(0)));
    await expect(decodeAll(empty)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule: 'NoSamples' });
  });
});
