import { describe, expect, it } from 'vitest';
import { resampleAxis } from './resample-axis.js';
import { resizeImage, resizeImageInTurns } from './resize-image.js';
import type { RgbImage } from './rgb-image.js';

/** Random numbers with a period of 2^32. */
function noise(width: number, height: number, seed = 1): RgbImage {
  let state = seed;
  const data = Uint8Array.from({ length: width * height * 3 }, () => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) | 0;
    return state >>> 24;
  });
  return { width, height, data };
}

/** The definition in float64, rounded to bytes between the passes. */
function oracle(image: RgbImage, width: number, height: number): Uint8Array {
  const across = pass(image.data, image.height, image.width, width, 3);
  // The transposed picture: its columns are rows.
  return pass(across, 1, image.height, height, width * 3);
}

/** Resamples the middle axis of [outer, inputs, inner]. */
function pass(data: Uint8Array, outer: number, inputs: number, outputs: number, inner: number): Uint8Array {
  const made = new Uint8Array(outer * outputs * inner);
  const scale = inputs / outputs;
  const stretch = Math.max(scale, 1);
  for (let output = 0; output < outputs; output++) {
    const centre = (output + 0.5) * scale;
    const from = Math.max(Math.trunc(centre - 2 * stretch + 0.5), 0);
    const to = Math.min(Math.trunc(centre + 2 * stretch + 0.5), inputs);
    const weights = Array.from({ length: to - from }, (_, tap) =>
      cubic((from + tap + 0.5 - centre) / stretch),
    );
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    for (let block = 0; block < outer; block++) {
      for (let channel = 0; channel < inner; channel++) {
        const sum = weights.reduce(
          (part, weight, tap) => part + weight * data[(block * inputs + from + tap) * inner + channel]!,
          0,
        );
        made[(block * outputs + output) * inner + channel] = Math.min(
          255,
          Math.max(0, Math.round(sum / total)),
        );
      }
    }
  }
  return made;
}

function cubic(distance: number): number {
  const x = Math.abs(distance);
  if (x < 1) return 1.5 * x ** 3 - 2.5 * x ** 2 + 1;
  return x < 2 ? -0.5 * x ** 3 + 2.5 * x ** 2 - 4 * x + 2 : 0;
}

describe('resizeImage', () => {
  it.each([
    [
      [50, 38],
      [144, 96],
    ],
    [
      [211, 130],
      [96, 48],
    ],
    [
      [7, 300],
      [48, 2592],
    ],
    [
      [1, 1],
      [48, 48],
    ],
    [
      [97, 5],
      [97, 48],
    ],
    [
      [33, 64],
      [48, 64],
    ],
    [
      [1999, 9],
      [48, 48],
    ],
    [
      [9, 1999],
      [48, 48],
    ],
    [
      [30_000, 3],
      [96, 48],
    ],
  ] as const)(
    '%o to %o equals the definition, except for the last bit',
    ([width, height], [toWidth, toHeight]) => {
      const image = noise(width, height);
      const made = resizeImage(image, { width: toWidth, height: toHeight });
      expect([made.width, made.height]).toEqual([toWidth, toHeight]);
      const expected = oracle(image, toWidth, toHeight);
      expect(made.data.length).toBe(expected.length);
      let largest = 0;
      let sum = 0;
      made.data.forEach((value, index) => {
        const difference = Math.abs(value - expected[index]!);
        largest = Math.max(largest, difference);
        sum += difference;
      });
      expect(largest).toBeLessThanOrEqual(2);
      expect(sum / expected.length).toBeLessThan(0.02);
    },
  );

  it('keeps uniform colours uniform, including the ends of the range', () => {
    for (const colour of [0, 1, 128, 255]) {
      for (const [width, height] of [
        [5, 3],
        [1003, 700],
      ] as const) {
        const data = new Uint8Array(width * height * 3).fill(colour);
        const made = resizeImage({ width, height, data }, { width: 96, height: 48 });
        expect(new Set(made.data)).toEqual(new Set([colour]));
      }
    }
  });

  it('handles the largest sums: alternating black and white at the edges of the kernel', () => {
    for (const width of [96, 480, 700, 2000]) {
      const height = 6;
      const data = Uint8Array.from({ length: width * height * 3 }, (_, index) =>
        Math.floor(index / 3 / (width / 96) + 0.5) % 2 ? 255 : 0,
      );
      const made = resizeImage({ width, height, data }, { width: 48, height });
      const expected = oracle({ width, height, data }, 48, height);
      expect(made.data.findIndex((value, index) => Math.abs(value - expected[index]!) > 1)).toBe(-1);
    }
  });

  it('returns a picture that already has the size', () => {
    const image = noise(48, 96);
    expect(resizeImage(image, { width: 48, height: 96 })).toBe(image);
  });

  it('does not change its input', () => {
    const image = noise(60, 50);
    const before = image.data.slice();
    resizeImage(image, { width: 48, height: 48 });
    expect(image.data).toEqual(before);
  });
});

describe('resizeImageInTurns', () => {
  it('gives the same bytes', async () => {
    const image = noise(900, 700);
    const size = { width: 336, height: 240 };
    const inTurns = await resizeImageInTurns(image, size);
    expect(Buffer.compare(inTurns.data, resizeImage(image, size).data)).toBe(0);
  });

  it('yields to the event loop, and stops on abort', async () => {
    const stop = new AbortController();
    const reason = new RangeError('enough');
    setImmediate(() => stop.abort(reason));
    const image = { width: 4000, height: 3000, data: new Uint8Array(36_000_000) };
    await expect(resizeImageInTurns(image, { width: 912, height: 672 }, stop.signal)).rejects.toBe(reason);
  });
});

describe('resampleAxis', () => {
  it.each([
    [4000, 912, 17],
    [4000, 432, 18],
    [91, 624, 14],
    [65_535, 48, 22],
  ])('%i to %i has %i fraction bits', (inputs, outputs, bits) => {
    const { fractionBits, weights, taps } = resampleAxis(inputs, outputs);
    expect(fractionBits).toBe(bits);
    expect(taps % 4).toBe(0);
    for (let output = 0; output < outputs; output++) {
      const row = weights.subarray(output * taps, (output + 1) * taps);
      const sum = row.reduce((total, weight) => total + weight, 0);
      expect(Math.abs(sum / 2 ** bits - 1)).toBeLessThan(taps / 2 ** bits);
      // A sum of products with bytes fits into 32 bits.
      const magnitude = row.reduce((total, weight) => total + Math.abs(weight), 0);
      expect(magnitude * 255).toBeLessThan(2 ** 31);
    }
  });
});
