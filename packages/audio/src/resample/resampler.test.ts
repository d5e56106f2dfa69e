import { describe, expect, it } from 'vitest';
import { cut, noise, rms, sine, sweep } from '../../test/sounds.js';
import { Resampler } from './resampler.js';

function convert(samples: Float32Array, from: number, to = 16_000, sizes = [samples.length]): Float32Array {
  const resampler = new Resampler(from, to);
  const pieces = [...cut(samples, sizes)].map((piece) => resampler.push(piece));
  return Float32Array.from([...pieces, resampler.finish()].flatMap((piece) => [...piece]));
}

const decibels = (ratio: number): number => 20 * Math.log10(ratio);
/** Excludes the edges, where the filter includes the silence around the sound. */
const middle = (samples: Float32Array): Float32Array => samples.subarray(400, -400);

describe('Resampler', () => {
  it.each([8000, 11_025, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000])('keeps a tone at %i Hz', (rate) => {
    const hertz = 1234.5;
    const made = convert(sine(rate / 2, hertz, rate), rate);
    const expected = sine(8000, hertz, 16_000);
    expect(made.length).toBe(8000);
    const error = middle(made.map((value, k) => value - expected[k]!));
    expect(decibels(rms(error) / rms(expected))).toBeLessThan(-75);
  });

  it.each([
    [44_100, 9000],
    [44_100, 15_000],
    [48_000, 8001],
    [48_000, 23_000],
    [96_000, 40_000],
    [44_099, 12_000],
    [22_050, 8100],
  ])('removes frequencies above 8 kHz: %i Hz, tone at %i Hz', (rate, hertz) => {
    const made = middle(convert(sine(rate / 2, hertz, rate), rate));
    expect(decibels(rms(made) / rms(sine(8000, 440, 16_000)))).toBeLessThan(-75);
  });

  it.each([44_100, 48_000, 192_000])(
    'produces no alias of a sweep from 8 kHz to the upper limit: %i Hz',
    (rate) => {
      const made = middle(convert(sweep(rate / 2, 8000, rate / 2, rate), rate));
      const loudest = made.reduce((most, value) => Math.max(most, Math.abs(value)), 0);
      expect(decibels(loudest / 0.5)).toBeLessThan(-60);
    },
  );

  it.each([44_100, 48_000, 22_050])('keeps 7.1 kHz at its loudness within 0.01 dB: %i Hz', (rate) => {
    const made = middle(convert(sine(rate / 2, 7100, rate), rate));
    expect(Math.abs(decibels(rms(made) / rms(middle(sine(8000, 7100, 16_000)))))).toBeLessThan(0.01);
  });

  it('produces no image of a tone when upsampling', () => {
    const rate = 8000;
    const made = middle(convert(sine(rate / 2, 3000, rate), rate));
    const expected = middle(sine(8000, 3000, 16_000));
    expect(decibels(rms(made.map((value, k) => value - expected[k]!)) / rms(expected))).toBeLessThan(-75);
  });

  it.each([44_100, 48_000, 8000, 44_099, 11_025, 191_999])('gives the same bits in chunks: %i Hz', (rate) => {
    const samples = noise(4001, rate);
    const whole = convert(samples, rate);
    expect(whole.length).toBe(Math.ceil((4001 * 16_000) / rate));
    expect(convert(samples, rate, 16_000, [1, 2, 333, 4096])).toEqual(whole);
    expect(convert(samples, rate, 16_000, [1])).toEqual(whole);
  });

  it('passes 16 kHz through unchanged', () => {
    const samples = noise(1000, 1, 2);
    expect(convert(samples, 16_000, 16_000, [7])).toEqual(samples);
  });

  it('keeps a constant', () => {
    const made = middle(convert(new Float32Array(44_100).fill(0.25), 44_100));
    expect(Math.max(...made.map((value) => Math.abs(value - 0.25)))).toBeLessThan(1e-7);
  });

  it.each([999, 0, -16_000, 1_000_000, 44_100.5, Number.NaN])('refuses %d Hz', (rate) => {
    expect(() => new Resampler(rate, 16_000)).toThrow(/whole number of Hz from 1000 to 768000, received/);
  });

  it('accepts nothing after its end', () => {
    const resampler = new Resampler(8000, 16_000);
    resampler.finish();
    expect(() => resampler.push(new Float32Array(1))).toThrow(/after finish/);
  });

  it('returns nothing for empty input', () => {
    expect(convert(new Float32Array(0), 44_100, 16_000, [1]).length).toBe(0);
  });
});
