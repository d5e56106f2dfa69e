import { readFileSync } from 'node:fs';
import { MarkBaseError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { decodeAll, inPieces } from '../../test/collect.js';
import { oggPage } from '../../test/long-sounds.js';
import { chunk, MONO, pcmBytes, soundFile, wavFile, wavFormat } from '../../test/sound-files.js';
import { randomSource } from '../../test/sounds.js';
import { type DecodeOptions, decodeAudio } from './decode-audio.js';

const FILES = ['mono.flac', 'stereo.oga', 'stereo.ogg', 'stereo.opus', 'stereo.mp3'];
const WAV = wavFile(wavFormat(1, 1, 22_050, 16), chunk('data', pcmBytes(MONO.channels, 's16le')));

function bytesOf(name: string): Buffer {
  return name === 'wav' ? WAV : readFileSync(soundFile(name));
}

/** Samples of a file, or its error, which must be one of our classes. */
async function attempt(bytes: Uint8Array, options: DecodeOptions = {}): Promise<number | MarkBaseError> {
  try {
    return (await decodeAll(bytes, { ffmpeg: false, ...options })).channels[0]!.length;
  } catch (error) {
    if (MarkBaseError.isInstance(error)) return error;
    throw error;
  }
}

describe('files that end too early', () => {
  it.each(['wav', ...FILES])(
    '%s is reported as truncated, or read up to its end if allowed',
    async (name) => {
      const bytes = bytesOf(name);
      const whole = (await decodeAll(bytes)).channels[0]!.length;
      for (const share of [0.5, 0.8, 0.97]) {
        const part = bytes.subarray(0, Math.floor(bytes.length * share));
        const error = await attempt(part);
        expect(error).toMatchObject({ code: 'CORRUPT_FILE', rule: 'TruncatedAudio' });
        const kept = await attempt(part, { truncated: 'accept' });
        if (typeof kept === 'number') expect(kept).toBeLessThanOrEqual(whole);
        // Such a part of an Ogg file or a short file may contain no page, block or frame.
        else expect(kept).toMatchObject({ code: 'CORRUPT_FILE' });
      }
    },
  );

  it.each(['wav', ...FILES])('%s of any length gives samples or a typed error', async (name) => {
    const bytes = bytesOf(name);
    for (let length = 1; length < Math.min(bytes.length, 400); length += 7) {
      expect(await attempt(bytes.subarray(0, length))).toBeInstanceOf(MarkBaseError);
    }
  });
});

describe('damaged files', () => {
  it.each(['wav', ...FILES.filter((name) => name !== 'stereo.mp3')])(
    '%s with flipped bits gives samples or a typed error',
    async (name) => {
      const random = randomSource(name.length);
      for (let round = 0; round < 60; round += 1) {
        const bytes = Buffer.from(bytesOf(name));
        const at = Math.floor(random() * (round % 2 === 0 ? 200 : bytes.length));
        bytes[at] = bytes[at]! ^ (1 << Math.floor(random() * 8));
        const result = await attempt(bytes);
        expect(typeof result === 'number' || result instanceof MarkBaseError).toBe(true);
      }
    },
  );

  it('finds a wrong checksum in FLAC and Ogg', async () => {
    for (const name of ['mono.flac', 'stereo.ogg', 'stereo.opus']) {
      const bytes = Buffer.from(bytesOf(name));
      const at = bytes.length - 300;
      bytes[at] = bytes[at]! ^ 1;
      expect(await attempt(bytes)).toMatchObject({
        code: 'CORRUPT_FILE',
        reason: expect.stringContaining('checksum'),
      });
    }
  });
});

describe('files that are not sound files', () => {
  it.each([
    ['text', Buffer.from('hello, this is a text file '.repeat(50)), /is not a known sound format.*`pcm`/],
    ['JSON', Buffer.from('{"a": 1}'), /this is text; expected WAV, AIFF, FLAC, MP3/],
    ['a page of HTML', Buffer.from('<!doctype html><html>'), /this is text/],
    ['PNG', Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), /an image/],
    ['zeros', Buffer.alloc(5000), /is not a known sound format/],
    [
      'Ogg video',
      oggPage({ packets: [Buffer.from('\x80theora....', 'latin1')], isFirst: true, isLast: true }),
      /Ogg with streams that begin with ".theora/,
    ],
  ])('refuses %s', async (_, bytes, message) => {
    const error = await attempt(bytes);
    expect(error).toMatchObject({ code: 'UNSUPPORTED_MEDIA', media: 'audio', source: '(audio)' });
    expect((error as MarkBaseError).message).toMatch(message);
  });

  it('refuses an empty file', async () => {
    expect(await attempt(Buffer.alloc(0))).toMatchObject({ code: 'CORRUPT_FILE', rule: 'NoSamples' });
  });

  it('names the file', async () => {
    await expect(decodeAll('no-such-file.wav')).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      path: 'no-such-file.wav',
      reason: 'it does not exist',
    });
    await expect(decodeAll(import.meta.dirname)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
  });
});

describe('invalid samples', () => {
  const wav = (samples: number[]): Buffer =>
    wavFile(wavFormat(3, 1, 8000, 32), chunk('data', pcmBytes([Float32Array.from(samples)], 'f32le')));

  it.each([Number.NaN, Number.POSITIVE_INFINITY, 20_000])('refuses %d in a file', async (value) => {
    expect(await attempt(wav([0, 0.5, value]))).toMatchObject({
      code: 'CORRUPT_FILE',
      rule: 'InvalidSample',
      reason: expect.stringContaining(`sample 2 of channel 0 is ${value}`),
    });
  });

  it('accepts float files that exceed full scale', async () => {
    expect(await attempt(wav([0, 1.5, -3]))).toBe(3);
  });

  it.each([
    [
      'NaN',
      { samples: Float32Array.of(0, Number.NaN), sampleRate: 16_000 },
      /sample 1 of channel 0.*received NaN/,
    ],
    ['whole numbers', { samples: Float32Array.of(12_000), sampleRate: 16_000 }, /Divide 16-bit integers/],
    ['no samples', { samples: new Float32Array(0), sampleRate: 16_000 }, /at least one sample/],
    ['no channels', { samples: [], sampleRate: 16_000 }, /1 to 64 of them/],
    [
      'uneven channels',
      { samples: [new Float32Array(2), new Float32Array(3)], sampleRate: 16_000 },
      /equal length/,
    ],
    ['a rate of 0', { samples: new Float32Array(2), sampleRate: 0 }, /whole number of Hz/],
  ])('refuses %s of the caller', async (_, source, message) => {
    await expect(decodeAll(source)).rejects.toThrow(message);
    await expect(decodeAll(source)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('refuses sources of other kinds', async () => {
    await expect(decodeAll(7 as never)).rejects.toThrow(/a path, a file: URL.*received 7/);
    await expect(decodeAll(new URL('https://example.com/a.wav'))).rejects.toThrow(/received "https:/);
    const words = (async function* () {
      yield 'words';
    })();
    await expect(decodeAll(words as never)).rejects.toThrow(/pieces of bytes/);
  });
});

describe('chunks that are no longer read', () => {
  it('close the decoder', async () => {
    for await (const piece of decodeAudio(inPieces(bytesOf('stereo.opus'), 500))) {
      expect(piece.channels).toHaveLength(2);
      break;
    }
  });
});
