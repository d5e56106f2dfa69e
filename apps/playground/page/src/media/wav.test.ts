import { expect, it } from 'vitest';
import { encodeWav, peaksOf } from './wav.js';

it('writes a correct header, and clips samples instead of wrapping them', () => {
  const bytes = encodeWav(Float32Array.of(0, 1, -1, 2, 0.5));
  const view = new DataView(bytes.buffer);
  expect(new TextDecoder().decode(bytes.subarray(0, 4))).toBe('RIFF');
  expect(view.getUint32(4, true)).toBe(bytes.length - 8);
  expect(view.getUint32(24, true)).toBe(16_000);
  expect(view.getUint32(40, true)).toBe(10);
  expect([...new Int16Array(bytes.buffer, 44)]).toEqual([0, 32767, -32767, 32767, 16384]);
});

it('finds the loudest sample of each piece, also with fewer samples than pieces', () => {
  expect(peaksOf(Float32Array.of(0.1, -0.9, 0.3, 0.2), 2)).toEqual([0.9, 0.3]);
  expect(peaksOf(Float32Array.of(0.5), 3)).toEqual([0, 0, 0.5]);
  expect(peaksOf(new Float32Array(0), 2)).toEqual([0, 0]);
});
