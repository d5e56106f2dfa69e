import { readFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { LimitExceededError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { inPieces } from '../../test/collect.js';
import { FLAC_BLOCK, OPUS_PACKET, OPUS_PAGE_PACKETS, quietOpus, toneFlac } from '../../test/long-sounds.js';
import { soundFile, wavFile, wavFormat } from '../../test/sound-files.js';
import type { AudioSource } from './audio-source.js';
import { decodeAudio } from './decode-audio.js';
import { VorbisBits } from './vorbis/vorbis-bits.js';
import { readSetup } from './vorbis/vorbis-setup.js';

const MIB = 2 ** 20;

/** Decodes with a limit, and counts the samples before the error. */
async function decodedSeconds(
  source: AudioSource,
  maxTotalSeconds: number,
): Promise<{ seconds: number; error: LimitExceededError }> {
  let seconds = 0;
  try {
    for await (const { channels, sampleRate } of decodeAudio(source, { maxTotalSeconds })) {
      seconds += channels[0]!.length / sampleRate;
    }
  } catch (error) {
    if (error instanceof LimitExceededError) return { seconds, error };
    throw error;
  }
  throw new TypeError(`all ${seconds} s were decoded`);
}

/** A WAV file of 16 kHz and 16 bits with a stated data size. */
function wavOf(statedBytes: number, seconds: number): Buffer {
  const header = Buffer.from(`data${'0000'}`, 'latin1');
  header.writeUInt32LE(statedBytes, 4);
  return wavFile(wavFormat(1, 1, 16_000, 16), header, Buffer.alloc(seconds * 32_000));
}

/** The fixture, with a different number of frames in its information frame. */
function mp3Of(frames: number): Buffer {
  const bytes = Buffer.from(readFileSync(soundFile('stereo.mp3')));
  bytes.writeUInt32BE(frames, bytes.indexOf('Xing') + 8);
  return bytes;
}

const hours = toneFlac({ frames: 230, sampleRate: 1163, statedSamples: 230 * FLAC_BLOCK });
const opusPage = OPUS_PAGE_PACKETS * OPUS_PACKET;

describe('a sound that states more than the limit', () => {
  it.each<[string, Buffer, number]>([
    ['3 KB of FLAC with 3.6 hours', hours, (230 * FLAC_BLOCK) / 1163],
    ['the same without its frames', hours.subarray(0, 2000), (230 * FLAC_BLOCK) / 1163],
    ['a WAV of 41 minutes without its samples', wavOf(41 * 60 * 32_000, 0), 41 * 60],
    ['an MP3', mp3Of(100_000), (100_000 * 1152) / 44_100],
    // The position of its first page with sound is subtracted.
    ['Opus', quietOpus(40, (index) => (index + 1) * opusPage), (39 * opusPage) / 48_000],
    [
      'Opus cut from a longer one',
      quietOpus(40, (index) => (index + 9) * opusPage),
      (39 * opusPage) / 48_000,
    ],
  ])('is refused before anything is decoded: %s', async (_, bytes, seconds) => {
    const result = await decodedSeconds(bytes, 60);
    expect(result.seconds).toBe(0);
    expect(result.error).toMatchObject({ limit: 'maxTotalSeconds', maximum: 60 });
    expect(result.error.received).toBeCloseTo(seconds, 6);
    expect(hours.length).toBeLessThan(3100);
  });

  it('is refused because of the length stated at the end of the file', async () => {
    const error = await decodedSeconds(soundFile('mono.opus'), 0.25).catch((other: unknown) => other);
    expect(error).toMatchObject({ error: { limit: 'maxTotalSeconds' } });
  });
});

describe('a sound of unknown or wrong length', () => {
  it.each<[string, AudioSource, number]>([
    ['FLAC', toneFlac({ frames: 230, sampleRate: 1163, statedSamples: 0 }), FLAC_BLOCK / 1163],
    [
      'FLAC that states a second',
      toneFlac({ frames: 6000, sampleRate: 1163, statedSamples: 1163 }),
      FLAC_BLOCK / 1163,
    ],
    ['WAV', wavOf(0xffff_ffff, 100), 65_536 / 32_000],
    ['Opus', quietOpus(40, () => 0), opusPage / 48_000],
    ['Opus without positions', quietOpus(40, () => null), opusPage / 48_000],
    [
      'Opus in chunks, whose end is not yet known',
      inPieces(
        quietOpus(40, () => 48_000),
        400,
      ),
      opusPage / 48_000,
    ],
    ['MP3', mp3Of(1), 0.1],
  ])('is decoded at most up to the limit: %s', async (_, source, pieceSeconds) => {
    const limit = source instanceof Buffer && source.length < 4000 && source[0] === 0xff ? 0.05 : 60;
    const { seconds, error } = await decodedSeconds(source, limit);
    expect(seconds).toBeLessThanOrEqual(limit);
    expect(error.received).toBeGreaterThan(limit);
    expect(error.received).toBeLessThanOrEqual(limit + pieceSeconds);
  });

  it('passes at exactly the limit', async () => {
    const seconds = (2 * FLAC_BLOCK) / 1000;
    const bytes = toneFlac({ frames: 2, sampleRate: 1000, statedSamples: 2 * FLAC_BLOCK });
    const pieces = [];
    for await (const piece of decodeAudio(bytes, { maxTotalSeconds: seconds })) pieces.push(piece);
    expect(pieces.map(({ channels }) => channels[0]!.length)).toEqual([FLAC_BLOCK, FLAC_BLOCK]);
  });

  it.each([0, -1, Number.NaN])('needs a limit above 0, not %d', async (maxTotalSeconds) => {
    await expect(decodedSeconds(hours, maxTotalSeconds)).rejects.toMatchObject({
      argument: 'maxTotalSeconds',
    });
  });
});

describe('files that declare more than they contain', () => {
  it('limits FLAC frames to twice the size of their samples', async () => {
    const bytes = Buffer.concat([
      toneFlac({ frames: 1, sampleRate: 8000, statedSamples: 0 }).subarray(0, 50),
      // A residual whose first number never ends.
      Buffer.of(0b0001_0000, 0, 0),
      Buffer.alloc(2 * MIB),
    ]);
    await expect(decodedSeconds(bytes, 60)).rejects.toMatchObject({
      code: 'CORRUPT_FILE',
      reason: expect.stringMatching(/a frame of more than \d+ bytes/),
    });
  });

  it('limits the length of Ogg chains', async () => {
    const bytes = Buffer.concat(Array.from({ length: 257 }, () => quietOpus(1, () => 48_000)));
    await expect(decodedSeconds(bytes, 1e6)).rejects.toMatchObject({
      code: 'UNSUPPORTED_MEDIA',
      reason: 'a chain of more than 256 Ogg streams',
    });
  });

  it('limits the total size of Vorbis codebooks', () => {
    // A codebook of 2^17 entries with codes of 17 bits and no vectors, in a dozen bytes.
    const book = '0x564342:24 1:16 131072:24 1:1 16:5 131072:18 0:4';
    const setup = bitsOf(['255:8', ...Array.from({ length: 3 }, () => book)].join(' '));
    expect(readSetup(new VorbisBits(setup), 1)).toBe('a codebook of 131072 entries with 1 dimensions');
    expect(setup.length).toBeLessThan(50);
  });
});

/** Packs fields `value:width` like Vorbis, lowest bit first. */
function bitsOf(fields: string): Uint8Array {
  const bits = fields.split(' ').flatMap((field) => {
    const [value, width] = field.split(':').map(Number);
    return Array.from({ length: width! }, (_, bit) => Math.floor(value! / 2 ** bit) % 2);
  });
  const bytes = new Uint8Array(Math.ceil(bits.length / 8) + 8);
  for (const [at, bit] of bits.entries()) bytes[at >> 3]! |= bit << (at & 7);
  return bytes;
}

describe('memory while decoding', () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const liveBytes = (): number => {
    // Buffers are freed in the background: a second collection waits for the first to end.
    collect();
    collect();
    return process.memoryUsage().arrayBuffers;
  };

  it.each<[string, Buffer]>([
    [
      'FLAC of eight channels',
      toneFlac({ frames: 12, sampleRate: 44_100, statedSamples: 0, channelCount: 8 }),
    ],
    ['Opus without positions', quietOpus(60, () => null)],
    [
      'Opus whose only position is at its end',
      quietOpus(60, (index) => (index === 59 ? 60 * opusPage : null)),
    ],
    ['WAV', wavOf(0xffff_ffff, 60)],
  ])('is at most 12 MiB in addition to the file: %s', async (_, bytes) => {
    let most = 0;
    let count = 0;
    const before = liveBytes();
    for await (const piece of decodeAudio(bytes)) {
      count += piece.channels[0]!.length;
      most = Math.max(most, liveBytes() - before);
    }
    expect(most).toBeLessThanOrEqual(12 * MIB);
    expect(count).toBeGreaterThan(750_000);
  });
});
