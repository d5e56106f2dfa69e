import { describe, expect, it } from 'vitest';
import { randomSource } from '../../../test/sounds.js';
import { BitReader, OutOfBitsError } from './bit-reader.js';

describe('BitReader', () => {
  it('reads numbers of every width at every bit offset', () => {
    const random = randomSource(4);
    const bytes = Uint8Array.from({ length: 2000 }, () => random() * 256);
    const text = Array.from(bytes, (byte) => byte.toString(2).padStart(8, '0')).join('');
    const reader = new BitReader(bytes);
    for (let at = 0; at < text.length - 40; ) {
      const width = Math.floor(random() * 33);
      expect(reader.bits(width)).toBe(width === 0 ? 0 : Number.parseInt(text.slice(at, at + width), 2));
      at += width;
      const next = text.indexOf('1', at);
      expect(reader.unary()).toBe(next - at);
      at = next + 1;
      expect(reader.byteOffset).toBe(Math.ceil(at / 8));
    }
  });

  it('reads signed numbers of up to 33 bits', () => {
    const reader = new BitReader(Uint8Array.of(0b1011_1111, 0xff, 0xff, 0xff, 0xff, 0x80));
    expect(reader.signed(2)).toBe(-2);
    expect(reader.signed(33)).toBe(-1);
  });

  it('counts long runs of zeros', () => {
    const reader = new BitReader(Uint8Array.of(0x80, ...new Uint8Array(20), 1));
    reader.bits(1);
    expect(reader.unary()).toBe(7 + 160 + 7);
  });

  it.each([
    ['bits', (reader: BitReader) => reader.bits(9)],
    ['a run', (reader: BitReader) => reader.unary()],
  ])('reports the end of %s', (_, read) => {
    expect(() => read(new BitReader(Uint8Array.of(0)))).toThrow(OutOfBitsError);
  });
});
