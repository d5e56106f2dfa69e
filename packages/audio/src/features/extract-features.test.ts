import { openCheckpoint, openSafetensors } from '@markbase/loader';
import { describe, expect, it } from 'vitest';
import { fixture } from '../../../../fixtures/locate.js';
import { noise } from '../../test/sounds.js';
import { extractFeatures } from './extract-features.js';

const configOf = async (name: string) => (await openCheckpoint(fixture(name))).config;

describe('extractFeatures', () => {
  it('computes the input of a tower as in its reference run', async () => {
    const { tensors } = await openSafetensors(fixture('e2b-mlx-4bit/expected.safetensors'));
    const waveform = await tensors.get('audio.waveform')!.readFloat32();
    const expected = await tensors.get('audio.input_features')!.readFloat32();
    const made = extractFeatures(waveform, await configOf('e2b-mlx-4bit'));
    if (made.kind !== 'mel') return expect.unreachable();
    const count = made.validFrameCount * 128;
    const worst = Math.max(...made.values.subarray(0, count).map((v, j) => Math.abs(v - expected[j]!)));
    expect(worst).toBeLessThan(1e-4);
    expect(expected.subarray(count).every((value) => value === 0)).toBe(true);
  });

  it('produces rows of 640 samples for 12B, the last one padded with zeros', async () => {
    const samples = noise(1300, 5);
    const made = extractFeatures(samples, await configOf('12b-mlx-4bit'));
    expect(made).toMatchObject({ kind: 'frames', frameCount: 3, width: 640 });
    expect(made.values.subarray(0, 1300)).toEqual(samples);
    expect(made.values.subarray(1300)).toEqual(new Float32Array(620));
  });

  it('refuses audio that gives no soft token, and models without audio', async () => {
    const tower = await configOf('e2b-mlx-4bit');
    expect(() => extractFeatures(new Float32Array(160), tower)).toThrow(/161 samples.*received 160/);
    expect(extractFeatures(new Float32Array(161), tower).frameCount).toBe(1);
    const unified = await configOf('12b-mlx-4bit');
    expect(() => extractFeatures(new Float32Array(0), unified)).toThrow(/expected enough audio/);
    expect(extractFeatures(new Float32Array(1), unified).frameCount).toBe(1);
    const deaf = await configOf('31b-hf');
    expect(() => extractFeatures(new Float32Array(1000), deaf)).toThrow(/takes no audio/);
  });
});
