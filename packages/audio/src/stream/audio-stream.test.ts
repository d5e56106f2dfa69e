import { describe, expect, it } from 'vitest';
import { MONO, STEREO, soundFile } from '../../test/sound-files.js';
import { noise, sweep } from '../../test/sounds.js';
import type { AudioSource } from '../decode/audio-source.js';
import { joinSamples } from '../math/join-samples.js';
import type { AudioSegment } from '../segment/segment.js';
import { AudioStream } from './audio-stream.js';
import { readAudio } from './read-mono.js';
import { type ReadSegmentsOptions, readSegments } from './read-segments.js';

async function segmentsOf(source: AudioSource, options: ReadSegmentsOptions = {}): Promise<AudioSegment[]> {
  const segments: AudioSegment[] = [];
  for await (const segment of readSegments(source, options)) segments.push(segment);
  return segments;
}

describe('AudioStream', () => {
  it.each([
    [16_000, 1],
    [44_100, 2],
    [48_000, 1],
    [8000, 3],
  ])('gives the same segments as for the whole: %i Hz, %i channels', async (sampleRate, channelCount) => {
    const channels = Array.from({ length: channelCount }, (_, channel) =>
      noise(sampleRate * 3 + 17, channel),
    );
    const options = { maxSeconds: 1.2, searchSeconds: 0.5 };
    const expected = await segmentsOf({ samples: channels, sampleRate }, options);
    expect(expected.length).toBeGreaterThan(2);
    const stream = new AudioStream({ sampleRate, ...options });
    const made: AudioSegment[] = [];
    for (let at = 0, size = 1; at < channels[0]!.length; at += size, size = (size * 7) % 4099) {
      const piece = channels.map((samples) => samples.subarray(at, at + size));
      made.push(...stream.push(channelCount === 1 ? piece[0]! : piece));
    }
    expect(stream.seconds).toBeCloseTo(3, 2);
    made.push(...stream.finish());
    expect(made).toEqual(expected);
    expect(stream.finish()).toEqual([]);
    expect(() => stream.push(new Float32Array(1))).toThrow(/audio stream was disposed/);
  });

  it('returns a segment as soon as more than the limit has arrived', () => {
    const stream = new AudioStream({ maxSeconds: 1 });
    expect(stream.push(noise(16_000, 1))).toEqual([]);
    expect(stream.push(noise(1, 1))).toHaveLength(1);
  });

  it("does not keep references to the caller's samples", () => {
    const stream = new AudioStream();
    const piece = noise(1000, 1);
    const copy = piece.slice();
    stream.push(piece);
    piece.fill(0);
    expect(stream.finish()[0]!.samples).toEqual(copy);
  });

  it('refuses NaN, a changed number of channels and absurd rates', () => {
    const stream = new AudioStream();
    stream.push(new Float32Array(5));
    expect(() => stream.push(Float32Array.of(0, Number.NaN))).toThrow(/sample 6 of channel 0.*received NaN/);
    expect(() => stream.push([new Float32Array(5), new Float32Array(5)])).toThrow(/1 channels, as before/);
    expect(() => new AudioStream({ sampleRate: 10 })).toThrow(/from 1000 to 768000/);
  });

  it('returns nothing for empty input', () => {
    const stream = new AudioStream({ sampleRate: 44_100 });
    expect(stream.push(new Float32Array(0))).toEqual([]);
    expect(stream.finish()).toEqual([]);
  });
});

describe('readAudio', () => {
  it.each([
    ['mono.flac', MONO],
    ['mono.opus', MONO],
    ['mono.ogg', MONO],
    ['mono.mp3', MONO],
  ])('resamples %s to 16 kHz', async (name, { channels, sampleRate }) => {
    const made = await readAudio(soundFile(name));
    const count = Math.ceil((channels[0]!.length * 16_000) / sampleRate);
    expect(made.length).toBe(count);
    const expected = sweep(count, 200, 3000, 16_000);
    const rest = made.map((value, index) => value - expected[index]!).subarray(800, -800);
    const power = (samples: Float32Array): number => samples.reduce((sum, value) => sum + value ** 2, 0);
    expect(power(rest) / power(expected.subarray(800, -800))).toBeLessThan(0.02);
  });

  it('mixes channels to their mean', async () => {
    const made = await readAudio({
      samples: [Float32Array.of(0.5, 1), Float32Array.of(0, -1)],
      sampleRate: 16_000,
    });
    expect([...made]).toEqual([0.25, 0]);
    expect((await readAudio(soundFile('stereo.flac'))).length).toBe(
      Math.ceil((STEREO.channels[0]!.length * 16_000) / 44_100),
    );
  });

  it('passes mono at 16 kHz through unchanged', async () => {
    const samples = noise(100_000, 4);
    expect(await readAudio({ samples, sampleRate: 16_000 })).toEqual(samples);
  });
});

describe('readSegments', () => {
  it('can be concatenated to the whole', async () => {
    const source = { samples: noise(200_000, 8), sampleRate: 22_050 };
    const segments = await segmentsOf(source, { maxSeconds: 2 });
    expect(joinSamples(segments.map(({ samples }) => samples))).toEqual(await readAudio(source));
  });

  it('refuses longer sounds on request, and invalid options before reading', async () => {
    const source = { samples: noise(200_000, 8), sampleRate: 22_050 };
    await expect(segmentsOf(source, { maxSeconds: 2, longer: 'refuse' })).rejects.toThrow(/at most 2 s/);
    await expect(segmentsOf('no-such-file', { maxSeconds: 0 })).rejects.toThrow(/maxSeconds/);
  });
});
