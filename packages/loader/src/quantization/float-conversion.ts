import { type DType, InvalidArgumentError } from '@markbase/core';
import { unpackFloats } from './packed-floats.js';

/** Floating-point types that weights and scales are stored in. */
export type FloatDType = 'BF16' | 'F16' | 'F32';

/** True for the types that a matrix may have without being quantised. */
export function isFloatDType(dtype: string): dtype is FloatDType {
  return dtype === 'BF16' || dtype === 'F16' || dtype === 'F32';
}

/**
 * Converts little-endian elements to float32.
 *
 * Exact for BF16, F16, F32, the floats of 4, 6 and 8 bits and integers below 2^24; F64 and larger integers are rounded.
 *
 * @throws InvalidArgumentError for C64
 */
export function toFloat32(bytes: Uint8Array, dtype: DType): Float32Array {
  switch (dtype) {
    case 'F32':
      return new Float32Array(bytes.slice().buffer);
    case 'BF16':
      return fromBfloat16(new Uint16Array(aligned(bytes, 2), bytesStart(bytes, 2), bytes.length / 2));
    case 'F16':
      return lookUp(
        new Uint16Array(aligned(bytes, 2), bytesStart(bytes, 2), bytes.length / 2),
        float16Table(),
      );
    case 'F8_E4M3':
    case 'F8_E5M2':
    case 'F8_E8M0':
    case 'F8_E4M3FNUZ':
    case 'F8_E5M2FNUZ':
      return lookUp(bytes, float8Table(dtype));
    case 'BOOL':
      return Float32Array.from(bytes, (byte) => (byte === 0 ? 0 : 1));
    case 'U8':
      return Float32Array.from(bytes);
    case 'I8':
      return Float32Array.from(new Int8Array(bytes.slice().buffer));
    case 'U16':
      return Float32Array.from(new Uint16Array(bytes.slice().buffer));
    case 'I16':
      return Float32Array.from(new Int16Array(bytes.slice().buffer));
    case 'U32':
      return Float32Array.from(new Uint32Array(bytes.slice().buffer));
    case 'I32':
      return Float32Array.from(new Int32Array(bytes.slice().buffer));
    case 'F64':
      return Float32Array.from(new Float64Array(bytes.slice().buffer));
    case 'U64':
      return Float32Array.from(new BigUint64Array(bytes.slice().buffer), Number);
    case 'I64':
      return Float32Array.from(new BigInt64Array(bytes.slice().buffer), Number);
    case 'F4':
    case 'F6_E2M3':
    case 'F6_E3M2':
      return unpackFloats(bytes, dtype);
    default:
      throw new InvalidArgumentError({
        argument: 'dtype',
        expected: 'a type with real values; read complex ones as bytes, real and imaginary parts alternating',
        received: dtype,
      });
  }
}

/** Converts float32 to a storage type, rounding to nearest even; NaN stays NaN, overflow becomes infinity. */
export function fromFloat32(values: Float32Array, dtype: FloatDType): Uint8Array {
  if (dtype === 'F32') return new Uint8Array(values.slice().buffer);
  const bits = new Uint32Array(values.buffer, values.byteOffset, values.length);
  const halves = new Uint16Array(values.length);
  const convert = dtype === 'BF16' ? bfloat16Bits : float16Bits;
  for (let i = 0; i < halves.length; i++) halves[i] = convert(bits[i]!);
  return new Uint8Array(halves.buffer);
}

/** The bfloat16 nearest to a float32 given by its bits. */
function bfloat16Bits(bits: number): number {
  // Rounding must not turn a NaN into infinity: make it a quiet NaN instead.
  if ((bits & 0x7fffffff) > 0x7f800000) return (bits >>> 16) | 0x40;
  return (bits + 0x7fff + ((bits >>> 16) & 1)) >>> 16;
}

/** The float16 nearest to a float32 given by its bits. */
function float16Bits(bits: number): number {
  const sign = (bits >>> 16) & 0x8000;
  const magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return sign | 0x7e00;
  // 65520 is the first value that rounds to infinity.
  if (magnitude >= 0x477ff000) return sign | 0x7c00;
  if (magnitude >= 0x38800000) {
    const rebiased = magnitude - 0x38000000;
    return sign | ((rebiased + 0xfff + ((rebiased >>> 13) & 1)) >>> 13);
  }
  // Below half of the smallest subnormal everything is zero, including that half itself (ties to even).
  if (magnitude <= 0x33000000) return sign;
  const shift = 126 - (magnitude >>> 23);
  const mantissa = (magnitude & 0x7fffff) | 0x800000;
  const kept = mantissa >>> shift;
  const rest = mantissa & ((1 << shift) - 1);
  const half = 1 << (shift - 1);
  const isRoundedUp = rest > half || (rest === half && (kept & 1) === 1);
  return sign | (kept + (isRoundedUp ? 1 : 0));
}

function fromBfloat16(halves: Uint16Array): Float32Array {
  const values = new Float32Array(halves.length);
  const bits = new Uint32Array(values.buffer);
  for (let i = 0; i < bits.length; i++) bits[i] = halves[i]! << 16;
  return values;
}

function lookUp(codes: Uint8Array | Uint16Array, table: Float32Array): Float32Array {
  const values = new Float32Array(codes.length);
  for (let i = 0; i < values.length; i++) values[i] = table[codes[i]!]!;
  return values;
}

/** A buffer in which the elements are aligned: the given one, or a copy if its start is not aligned. */
function aligned(bytes: Uint8Array, elementBytes: number): ArrayBufferLike {
  return bytes.byteOffset % elementBytes === 0 ? bytes.buffer : bytes.slice().buffer;
}

function bytesStart(bytes: Uint8Array, elementBytes: number): number {
  return bytes.byteOffset % elementBytes === 0 ? bytes.byteOffset : 0;
}

/** How a small float is laid out: bits of exponent and fraction, bias, and what the highest codes mean. */
interface SmallFloat {
  readonly exponentBits: number;
  readonly fractionBits: number;
  readonly bias: number;
  /** ieee: infinity and NaN; finite: only the all-ones code is NaN; unsigned-zero: only -0 is NaN. */
  readonly special: 'ieee' | 'finite' | 'unsigned-zero';
}

const FLOAT16: SmallFloat = { exponentBits: 5, fractionBits: 10, bias: 15, special: 'ieee' };
const FLOAT8 = {
  F8_E4M3: { exponentBits: 4, fractionBits: 3, bias: 7, special: 'finite' },
  F8_E5M2: { exponentBits: 5, fractionBits: 2, bias: 15, special: 'ieee' },
  F8_E4M3FNUZ: { exponentBits: 4, fractionBits: 3, bias: 8, special: 'unsigned-zero' },
  F8_E5M2FNUZ: { exponentBits: 5, fractionBits: 2, bias: 16, special: 'unsigned-zero' },
} as const satisfies Record<string, SmallFloat>;

const tables = new Map<string, Float32Array>();

function float16Table(): Float32Array {
  return cached('F16', () => Float32Array.from({ length: 65536 }, (_, code) => decodeSmall(code, FLOAT16)));
}

function float8Table(dtype: keyof typeof FLOAT8 | 'F8_E8M0'): Float32Array {
  return cached(dtype, () =>
    Float32Array.from({ length: 256 }, (_, code) => {
      if (dtype === 'F8_E8M0') return code === 255 ? Number.NaN : 2 ** (code - 127);
      return decodeSmall(code, FLOAT8[dtype]);
    }),
  );
}

function cached(key: string, make: () => Float32Array): Float32Array {
  const found = tables.get(key);
  if (found) return found;
  const made = make();
  tables.set(key, made);
  return made;
}

function decodeSmall(code: number, { exponentBits, fractionBits, bias, special }: SmallFloat): number {
  const signBit = 1 << (exponentBits + fractionBits);
  const sign = code & signBit ? -1 : 1;
  const magnitude = code & (signBit - 1);
  const exponent = magnitude >> fractionBits;
  const fraction = (magnitude & ((1 << fractionBits) - 1)) / (1 << fractionBits);
  const isTop = exponent === (1 << exponentBits) - 1;
  if (special === 'ieee' && isTop) return fraction === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  if (special === 'finite' && magnitude === signBit - 1) return Number.NaN;
  if (special === 'unsigned-zero' && code === signBit) return Number.NaN;
  return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias);
}
