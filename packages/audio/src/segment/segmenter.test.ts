import { describe, expect, it } from 'vitest';
import { cut, noise } from '../../test/sounds.js';
import type { AudioSegment } from './segment.js';
import type { SegmentOptions } from './segment-options.js';
import { Segmenter } from './segmenter.js';
import { splitAudio } from './split-audio.js';

const SECOND = 16_000;

/** Noise with silences, each given as its first and last second. */
function speech(seconds: number, pauses: readonly (readonly [number, number])[], offset = 0): Float32Array {
  const samples = noise(Math.round(seconds * SECOND), 1).map((sample) => sample + offset);
  for (const [from, to] of pauses) samples.fill(offset, from * SECOND, to * SECOND);
  return samples;
}

function inPieces(samples: Float32Array, sizes: readonly number[], options: SegmentOptions): AudioSegment[] {
  const segmenter = new Segmenter(options);
  return [...[...cut(samples, sizes)].flatMap((piece) => segmenter.push(piece)), ...segmenter.finish()];
}

const lengths = (segments: readonly AudioSegment[]): number[] =>
  segments.map(({ samples }) => samples.length);

describe('Segmenter', () => {
  it('keeps up to 30 s in one segment', () => {
    const samples = speech(30, [[10, 11]]);
    const [segment, ...more] = splitAudio(samples);
    expect(more).toEqual([]);
    expect(segment).toEqual({ index: 0, startSample: 0, startSeconds: 0, endSeconds: 30, samples });
  });

  it('cuts in the last pause before the limit, 0.1 s before the end of the pause', () => {
    const segments = splitAudio(
      speech(50, [
        [5, 6],
        [24, 24.5],
        [45, 46],
      ]),
    );
    expect(segments.map(({ startSeconds, endSeconds }) => [startSeconds, endSeconds])).toEqual([
      [0, 24.4],
      [24.4, 50],
    ]);
  });

  it('cuts at the quietest point if there is no silence of at least 0.2 s', () => {
    const samples = speech(31, [[26, 26.05]]);
    for (let j = 22 * SECOND; j < 22.4 * SECOND; j += 1) samples[j] = samples[j]! / 20;
    const [first] = splitAudio(samples);
    expect(first!.endSeconds).toBeGreaterThanOrEqual(22.1);
    expect(first!.endSeconds).toBeLessThanOrEqual(22.3);
  });

  it('does not mistake a constant offset for loudness', () => {
    const [first] = splitAudio(speech(31, [[25, 25.5]], 0.3));
    expect(first!.endSeconds).toBeCloseTo(25.4, 6);
  });

  it('cuts late in silence, and never leaves less than 0.1 s', () => {
    expect(lengths(splitAudio(new Float32Array(30 * SECOND + 1)))).toEqual([29.9 * SECOND, 1601]);
  });

  it.each([[1], [160], [1, 5000, 77], [48_000 * 20]])(
    'gives the same segments in chunks of %j',
    (...sizes) => {
      const options = { maxSeconds: 2, searchSeconds: 0.7 };
      const samples = speech(9.123, [
        [1.5, 1.8],
        [4, 4.3],
        [8, 8.2],
      ]);
      const whole = splitAudio(samples, options);
      expect(whole.length).toBeGreaterThan(4);
      expect(inPieces(samples, sizes, options)).toEqual(whole);
    },
  );

  it('leaves no gap, overlaps nothing, and keeps every limit', () => {
    const samples = noise(100_003, 9);
    const segments = splitAudio(samples, { maxSeconds: 1 });
    expect(segments.flatMap((segment) => [...segment.samples])).toEqual([...samples]);
    for (const [index, segment] of segments.entries()) {
      expect(segment.index).toBe(index);
      expect(segment.startSample).toBe(segments[index - 1] ? segments[index - 1]!.endSeconds * SECOND : 0);
      expect(segment.samples.length).toBeLessThanOrEqual(SECOND);
      expect(segment.samples.length).toBeGreaterThan(1600);
    }
  });

  it('refuses longer audio on request, as soon as it exceeds the limit', () => {
    const segmenter = new Segmenter({ longer: 'refuse', maxSeconds: 1 });
    expect(segmenter.push(new Float32Array(SECOND))).toEqual([]);
    expect(() => segmenter.push(new Float32Array(1))).toThrow(/at most 1 s.*longer: "split"/);
    expect(lengths(splitAudio(new Float32Array(SECOND), { longer: 'refuse', maxSeconds: 1 }))).toEqual([
      SECOND,
    ]);
  });

  it('returns nothing for empty input, and starts over after its end', () => {
    const segmenter = new Segmenter({ maxSeconds: 1 });
    expect(segmenter.finish()).toEqual([]);
    segmenter.push(noise(20_000, 1));
    expect(segmenter.seconds).toBe(1.25);
    expect(segmenter.finish()).toHaveLength(1);
    segmenter.push(noise(500, 1));
    expect(segmenter.finish()).toMatchObject([{ index: 0, startSample: 0 }]);
  });

  it.each([
    [{ maxSeconds: 0.5 }, /maxSeconds: expected a number of seconds from 1 to 3600, received 0.5/],
    [{ maxSeconds: Number.NaN }, /maxSeconds/],
    [{ searchSeconds: 16 }, /searchSeconds: expected a number of seconds from 0.25 to 15/],
    [{ longer: 'cut' as never }, /"split" or "refuse"/],
  ])('refuses %j', (options, message) => {
    expect(() => new Segmenter(options)).toThrow(message);
  });
});
