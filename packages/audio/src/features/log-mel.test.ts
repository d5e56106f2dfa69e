import { readFileSync } from 'node:fs';
import { audioTowerTokens, openSafetensors } from '@markbase/loader';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { noise } from '../../test/sounds.js';
import { logMel } from './log-mel.js';
import { MelStream } from './mel-stream.js';

const COUNTS: [number, number, number, number][] = JSON.parse(
  readFileSync(fixture('audio_counts.json'), 'utf8'),
).rows;

const file = await openSafetensors(fixture('audio_preprocess.safetensors'));
const reference = (name: string): Promise<Float32Array> => file.tensors.get(name)!.readFloat32();

describe('logMel', () => {
  it.each([0, 1, 2, 3, 4, 5])('agrees with the reference in case %i', async (index) => {
    const waveform = await reference(`case${index}.waveform`);
    const expected = await reference(`case${index}.features`);
    const made = logMel(waveform);
    expect(made.values.length).toBe(expected.length);
    let squares = 0;
    let differences = 0;
    for (let j = 0; j < expected.length; j += 1) {
      squares += expected[j]! ** 2;
      differences += (made.values[j]! - expected[j]!) ** 2;
    }
    expect(Math.sqrt(differences)).toBeLessThanOrEqual(1e-5 * Math.sqrt(squares));
    const mask = await file.tensors.get(`case${index}.mask`)!.read();
    expect(made.validFrameCount).toBe(
      new Int32Array(mask.buffer, mask.byteOffset, mask.byteLength / 4).reduce(
        (sum, valid) => sum + valid,
        0,
      ),
    );
  });

  it('has as many frames as the reference, for every length of the table', () => {
    for (const [samples, frames, validFrames, softTokens] of COUNTS) {
      const made = logMel(new Float32Array(Math.min(samples, 480_000)));
      expect([samples, made.frameCount, made.validFrameCount]).toEqual([samples, frames, validFrames]);
      expect(audioTowerTokens(samples).softTokens).toBe(softTokens);
    }
  });

  it('sets padding frames to zero, and silence to the floor', () => {
    const { values, validFrameCount, frameCount } = logMel(new Float32Array(8000));
    expect([validFrameCount, frameCount]).toEqual([49, 50]);
    expect(values.subarray(0, 49 * 128).every((value) => Math.abs(value - Math.log(0.001)) < 1e-6)).toBe(
      true,
    );
    expect(values.subarray(49 * 128).every((value) => value === 0)).toBe(true);
  });

  it('refuses audio longer than 30 s', () => {
    expect(() => logMel(new Float32Array(480_001))).toThrow(/at most 480000 samples.*received 480001.*Split/);
  });
});

describe('MelStream', () => {
  it.each([1, 7, 159, 160, 161, 1000, 50_000])('gives the same rows in chunks of %i', (size) => {
    const samples = noise(size === 1 ? 1700 : 20_000, 3);
    const whole = logMel(samples);
    const stream = new MelStream();
    const rows: number[] = [];
    for (let at = 0; at < samples.length; at += size)
      rows.push(...stream.push(samples.subarray(at, at + size)));
    expect(stream.frameCount).toBe(whole.validFrameCount);
    expect(Float32Array.from(rows)).toEqual(whole.values.subarray(0, whole.validFrameCount * 128));
  });
});
