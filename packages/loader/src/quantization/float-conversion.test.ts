import type { DType } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { fromFloat32, toFloat32 } from './float-conversion.js';

const NAN = Number.NaN;
const INFINITY = Number.POSITIVE_INFINITY;

function encode(values: readonly number[], dtype: 'BF16' | 'F16' | 'F32'): number[] {
  return [...new Uint16Array(fromFloat32(Float32Array.from(values), dtype).buffer)];
}

function decode(codes: readonly number[], dtype: DType): number[] {
  return [...toFloat32(Uint8Array.from(codes), dtype)];
}

describe('16-bit floats', () => {
  it.each(['BF16', 'F16'] as const)('%s survives conversion to float32 and back for every code', (dtype) => {
    const codes = Uint16Array.from({ length: 65536 }, (_, code) => code);
    const values = toFloat32(new Uint8Array(codes.buffer), dtype);
    const back = new Uint16Array(fromFloat32(values, dtype).buffer);
    for (let code = 0; code < 65536; code++) {
      if (Number.isNaN(values[code]))
        expect(toFloat32(new Uint8Array(back.slice(code, code + 1).buffer), dtype)[0]).toBeNaN();
      else if (back[code] !== code) expect.fail(`code ${code} became ${back[code]}`);
    }
  });

  it('BF16 rounds to nearest, ties to even', () => {
    const half = 2 ** -8;
    expect(encode([1 + half, 1 + 3 * half, 1 + half * 1.01, 1 + half * 0.99], 'BF16')).toEqual([
      0x3f80, 0x3f82, 0x3f81, 0x3f80,
    ]);
    expect(encode([3.4e38, -3.4e38, INFINITY], 'BF16')).toEqual([0x7f80, 0xff80, 0x7f80]);
    expect(encode([0, -0], 'BF16')).toEqual([0, 0x8000]);
  });

  it('F16 rounds to nearest, ties to even, from subnormal to infinity', () => {
    const half = 2 ** -11;
    expect(encode([1 + half, 1 + 3 * half], 'F16')).toEqual([0x3c00, 0x3c02]);
    expect(encode([65504, 65519.99, 65520, -INFINITY], 'F16')).toEqual([0x7bff, 0x7bff, 0x7c00, 0xfc00]);
    const least = 2 ** -24;
    expect(encode([least, least / 2, least * 0.51, least * 1.5, -least * 2.5, 1e-30], 'F16')).toEqual([
      1, 0, 1, 2, 0x8002, 0,
    ]);
    // Rounds up across the boundary between subnormal and normal numbers.
    expect(encode([2 ** -14 - least / 2], 'F16')).toEqual([0x0400]);
  });

  it('keeps NaN a NaN, even if its high bits are zero', () => {
    const quiet = new Float32Array(Uint32Array.of(0x7f800001, 0x7fffffff).buffer);
    for (const dtype of ['BF16', 'F16'] as const) {
      expect([...toFloat32(fromFloat32(quiet, dtype), dtype)]).toEqual([NAN, NAN]);
    }
  });
});

describe('toFloat32', () => {
  it('reads 8-bit floats', () => {
    expect(decode([0x00, 0x01, 0x38, 0x7e, 0x7f, 0xfe], 'F8_E4M3')).toEqual([0, 2 ** -9, 1, 448, NAN, -448]);
    expect(decode([0x01, 0x3c, 0x7b, 0x7c, 0xfc, 0x7d], 'F8_E5M2')).toEqual([
      2 ** -16,
      1,
      57344,
      INFINITY,
      -INFINITY,
      NAN,
    ]);
    expect(decode([0x80, 0x40, 0x7f], 'F8_E4M3FNUZ')).toEqual([NAN, 1, 240]);
    expect(decode([0x80, 0x40, 0x7f], 'F8_E5M2FNUZ')).toEqual([NAN, 1, 57344]);
    expect(decode([127, 130, 255], 'F8_E8M0')).toEqual([1, 8, NAN]);
  });

  it('reads integers and wide floats', () => {
    const bytesOf = (array: ArrayBufferView) => [...new Uint8Array(array.buffer)];
    expect(decode([0, 1, 2], 'BOOL')).toEqual([0, 1, 1]);
    expect(decode([1, 255], 'U8')).toEqual([1, 255]);
    expect(decode([1, 255], 'I8')).toEqual([1, -1]);
    expect(decode(bytesOf(Uint16Array.of(65535)), 'U16')).toEqual([65535]);
    expect(decode(bytesOf(Int16Array.of(-2)), 'I16')).toEqual([-2]);
    expect(decode(bytesOf(Uint32Array.of(2 ** 31)), 'U32')).toEqual([2 ** 31]);
    expect(decode(bytesOf(Int32Array.of(-7)), 'I32')).toEqual([-7]);
    expect(decode(bytesOf(BigUint64Array.of(2n ** 40n)), 'U64')).toEqual([2 ** 40]);
    expect(decode(bytesOf(BigInt64Array.of(-3n)), 'I64')).toEqual([-3]);
    expect(decode(bytesOf(Float64Array.of(0.5)), 'F64')).toEqual([0.5]);
    expect(decode(bytesOf(Float32Array.of(-1.5)), 'F32')).toEqual([-1.5]);
  });

  it('reads bytes that start at an odd offset', () => {
    const bytes = Uint8Array.of(7, 0x80, 0x3f, 0, 0x40).subarray(1);
    expect([...toFloat32(bytes, 'BF16')]).toEqual([1, 2]);
    expect([...toFloat32(Uint8Array.of(9, 0, 0x3c).subarray(1), 'F16')]).toEqual([1]);
  });

  it('reads the packed floats of 4 and 6 bits, lowest bits first', () => {
    // By the formula: codes 0 to 7 of E2M1, each with its negative in the upper half of the byte.
    expect(decode([0x80, 0x91, 0xa2, 0xb3, 0xc4, 0xd5, 0xe6, 0xf7], 'F4')).toEqual(
      [0, 0.5, 1, 1.5, 2, 3, 4, 6].flatMap((value) => [value, -value]),
    );
    // 000001 = 1/8, 001000 = 1, 011111 = 7.5, 100001 = -1/8: 24 bits, lowest first.
    const e2m3 = 0b000001 | (0b001000 << 6) | (0b011111 << 12) | (0b100001 << 18);
    expect(decode([e2m3 & 255, (e2m3 >> 8) & 255, e2m3 >> 16], 'F6_E2M3')).toEqual([0.125, 1, 7.5, -0.125]);
    // 000001 = 1/16, 001100 = 1, 011111 = 28, 111111 = -28.
    const e3m2 = 0b000001 | (0b001100 << 6) | (0b011111 << 12) | (0b111111 << 18);
    expect(decode([e3m2 & 255, (e3m2 >> 8) & 255, e3m2 >> 16], 'F6_E3M2')).toEqual([0.0625, 1, 28, -28]);
  });

  it('refuses complex numbers, and says how to read them', () => {
    expect(() => toFloat32(new Uint8Array(8), 'C64')).toThrow(/real and imaginary parts alternating/);
  });
});
