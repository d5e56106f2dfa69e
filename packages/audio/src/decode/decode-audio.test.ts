import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { decodeAll, inPieces } from '../../test/collect.js';
import { MONO, pcmBytes, rounded, STEREO, soundFile } from '../../test/sound-files.js';
import { noise, rms } from '../../test/sounds.js';
import { decodeAudio } from './decode-audio.js';

/** Loudness of the difference relative to the loudness of the original, in dB. */
function errorDecibels(made: Float32Array, original: Float32Array): number {
  return 20 * Math.log10(rms(made.map((value, index) => value - (original[index] ?? 0))) / rms(original));
}

describe('decodeAudio: lossless files', () => {
  it.each([
    ['mono.flac', MONO],
    ['stereo.flac', STEREO],
    ['stereo.oga', STEREO],
  ])('%s contains exactly what was encoded', async (name, { sampleRate, bits, channels }) => {
    const made = await decodeAll(soundFile(name));
    expect(made.sampleRate).toBe(sampleRate);
    expect(made.channels).toEqual(channels.map((samples) => rounded(samples, bits)));
  });
});

describe('decodeAudio: lossy files', () => {
  // The error is what each encoder discards; a wrong sample, sign, scale or delay gives 0 dB or more.
  it.each([
    ['mono.ogg', MONO, -25],
    ['stereo.ogg', STEREO, -25],
    ['mono.mp3', MONO, -40],
    ['stereo.mp3', STEREO, -25],
  ])('%s matches what was encoded, aligned to the sample', async (name, { sampleRate, channels }, limit) => {
    const made = await decodeAll(soundFile(name));
    expect(made.sampleRate).toBe(sampleRate);
    expect(made.channels.map((samples) => samples.length)).toEqual(channels.map((samples) => samples.length));
    made.channels.forEach((samples, channel) => {
      expect(errorDecibels(samples, channels[channel]!)).toBeLessThan(limit);
    });
  });

  it.each([
    ['mono.opus', MONO],
    ['stereo.opus', STEREO],
  ])(
    '%s is at 48 kHz, with the length and loudness of what was encoded',
    async (name, { sampleRate, channels }) => {
      const made = await decodeAll(soundFile(name));
      expect(made.sampleRate).toBe(48_000);
      made.channels.forEach((samples, channel) => {
        expect(samples.length).toBe((channels[channel]!.length * 48_000) / sampleRate);
        expect(rms(samples) / rms(channels[channel]!)).toBeCloseTo(1, 1);
      });
    },
  );
});

describe('decodeAudio: sources', () => {
  const FILES = ['mono.flac', 'stereo.flac', 'stereo.oga', 'stereo.ogg', 'stereo.opus', 'stereo.mp3'];

  it.each(FILES)('%s gives the same samples in chunks of any size', async (name) => {
    const bytes = readFileSync(soundFile(name));
    const whole = await decodeAll(soundFile(name));
    expect(await decodeAll(new Uint8Array(bytes))).toEqual(whole);
    expect(await decodeAll(new Blob([bytes]))).toEqual(whole);
    expect(await decodeAll(inPieces(bytes, 1))).toEqual(whole);
    expect(await decodeAll(inPieces(bytes, 777))).toEqual(whole);
  });

  it.each(FILES)('%s is recognised after ID3 tags', async (name) => {
    const tag = Buffer.alloc(10 + 70_000);
    tag.write('ID3\x04\0\0', 'latin1');
    tag.set([0, 4, 34, 112], 6);
    const tagged = Buffer.concat([tag, tag, readFileSync(soundFile(name))]);
    expect(await decodeAll(inPieces(tagged, 5000))).toEqual(await decodeAll(soundFile(name)));
  });

  it('takes samples in memory, and splits long ones into chunks', async () => {
    const samples = noise(70_000, 2);
    expect(await decodeAll({ samples, sampleRate: 8000 })).toEqual({ sampleRate: 8000, channels: [samples] });
    const channels = [noise(10, 3), noise(10, 4)];
    expect((await decodeAll({ samples: channels, sampleRate: 44_100 })).channels).toEqual(channels);
  });

  it('takes raw samples of a stated format', async () => {
    const channels = [noise(999, 5), noise(999, 6)];
    const pcm = { encoding: 's16be', sampleRate: 12_345, channelCount: 2 } as const;
    const made = await decodeAll(inPieces(pcmBytes(channels, 's16be'), 333), { pcm });
    expect(made).toEqual({ sampleRate: 12_345, channels: channels.map((samples) => rounded(samples, 16)) });
  });

  it('reports its progress', async () => {
    const bytes = readFileSync(soundFile('stereo.flac'));
    const told: unknown[] = [];
    await decodeAll(soundFile('stereo.flac'), { onProgress: (progress) => told.push(progress) });
    expect(told).toEqual([{ bytes: bytes.length, totalBytes: bytes.length }]);
    await decodeAll(inPieces(bytes, 10_000), { onProgress: (progress) => told.push(progress) });
    expect(told.slice(1)).toEqual([
      { bytes: 10_000, totalBytes: null },
      { bytes: bytes.length, totalBytes: null },
    ]);
  });

  it('stops on abort', async () => {
    const controller = new AbortController();
    const samples = noise(200_000, 2);
    const work = async (): Promise<void> => {
      for await (const piece of decodeAudio({ samples, sampleRate: 8000 }, { signal: controller.signal })) {
        expect(piece.channels[0]!.length).toBe(65_536);
        controller.abort(new DOMException('enough', 'AbortError'));
      }
    };
    await expect(work()).rejects.toThrow('enough');
    await expect(decodeAll(soundFile('mono.mp3'), { signal: AbortSignal.abort() })).rejects.toThrow(/abort/);
  });
});
