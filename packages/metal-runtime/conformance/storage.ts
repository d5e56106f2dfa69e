import type { Axis, Device, FloatType, Matrix, SmallFloatKind, Vector } from '../src/index.js';
import { integerArray, normalArray, randomSource } from './random.js';

/** A vector as stored, and the numbers it represents. */
export interface StoredVector {
  readonly values: Float64Array;
  upload<A extends Axis>(device: Device): Vector<A>;
}

/** A matrix [rows, columns] as stored, and the numbers it represents. */
export interface StoredMatrix {
  readonly rows: number;
  readonly columns: number;
  readonly values: Float64Array;
  upload<Out extends Axis, In extends Axis>(device: Device): Matrix<Out, In>;
}

/** How a quantised matrix is stored. */
export interface AffineFormat {
  readonly bits: 2 | 3 | 4 | 5 | 6 | 8;
  readonly groupSize: 32 | 64 | 128;
  readonly scaleDtype: FloatType;
}

/** The nearest number of a type, ties to even. */
export function roundTo(dtype: FloatType, value: number): number {
  if (dtype === 'F32') return Math.fround(value);
  // Significant bits and smallest exponent: bf16 has 8 and the exponent of float32, float16 has 11 and -14.
  const [bits, lowest] = dtype === 'BF16' ? [8, -126] : [11, -14];
  const single = Math.fround(value);
  if (single === 0) return single;
  const exponent = Math.max(Math.floor(Math.log2(Math.abs(single))), lowest);
  const unit = 2 ** (exponent - bits + 1);
  return roundHalfEven(single / unit) * unit;
}

/** The bytes of numbers in a type that represents them exactly. */
export function encode(dtype: FloatType, values: ArrayLike<number>): Uint8Array {
  const singles = Float32Array.from(values);
  if (dtype === 'F32') return new Uint8Array(singles.buffer);
  const words = new Uint32Array(singles.buffer);
  const halves = Uint16Array.from(words, (word) => (dtype === 'BF16' ? word >>> 16 : toFloat16(word)));
  return new Uint8Array(halves.buffer);
}

/** Numbers around 1, like norm gains. */
export function gain(seed: number, length: number, dtype: FloatType): StoredVector {
  const values = once(() => rounded(dtype, normalArray(seed, length, 0.25), 1));
  const bytes = once(() => encode(dtype, values()));
  return {
    get values() {
      return values();
    },
    upload: (device) => ({ length, dtype, data: device.upload(bytes(), 'gain') }),
  };
}

/** A float matrix whose products with numbers around 1 are around 1. */
export function plainMatrix(seed: number, rows: number, columns: number, dtype: FloatType): StoredMatrix {
  const values = once(() => rounded(dtype, normalArray(seed, rows * columns, 1 / Math.sqrt(columns))));
  const bytes = once(() => encode(dtype, values()));
  return {
    rows,
    columns,
    get values() {
      return values();
    },
    upload: (device) => ({
      kind: 'plain',
      dtype,
      rows,
      columns,
      weight: device.upload(bytes(), 'weight'),
    }),
  };
}

/** A quantised matrix whose products with numbers around 1 are around 1. */
export function affineMatrix(
  seed: number,
  rows: number,
  columns: number,
  format: AffineFormat,
): StoredMatrix {
  const { bits, groupSize, scaleDtype } = format;
  const parts = once(() => affineParts(seed, rows, columns, format));
  const values = once(() => {
    const { codes, scales, biases } = parts();
    const all = new Float64Array(codes.length);
    for (let i = 0; i < all.length; i++) {
      const group = Math.floor(i / groupSize);
      all[i] = codes[i]! * scales[group]! + biases[group]!;
    }
    return all;
  });
  const bytes = once(() => {
    const { codes, scales, biases } = parts();
    const [weight, ...factors] = [
      packCodes(codes, bits),
      encode(scaleDtype, scales),
      encode(scaleDtype, biases),
    ];
    return { weight, scales: factors[0]!, biases: factors[1]! };
  });
  return {
    rows,
    columns,
    get values() {
      return values();
    },
    upload: (device) => ({
      kind: 'affine',
      rows,
      columns,
      bits,
      groupSize,
      scaleDtype,
      weight: device.upload(bytes().weight, 'codes'),
      scales: device.upload(bytes().scales, 'scales'),
      biases: device.upload(bytes().biases, 'biases'),
    }),
  };
}

/** Bits of exponent and fraction. */
type SmallFloat = readonly [exponentBits: number, fractionBits: number];

const E2M1: SmallFloat = [2, 1];
const E4M3: SmallFloat = [4, 3];

/** Formats of small floats by what defines them. */
const SMALL_FLOATS = {
  mxfp4: { element: E2M1, groupSize: 32 },
  mxfp8: { element: E4M3, groupSize: 32 },
  nvfp4: { element: E2M1, groupSize: 16 },
} as const;

/**
 * A matrix of small floats whose products with numbers around 1 are around 1. `scales`: bytes to choose among; null = some whose numbers
 * have that size.
 */
export function smallFloatMatrix(
  seed: number,
  rows: number,
  columns: number,
  kind: SmallFloatKind,
  scales: readonly number[] | null = null,
): StoredMatrix {
  const { element, groupSize } = SMALL_FLOATS[kind];
  const bits = 1 + element[0] + element[1];
  const scaleOf = (byte: number) => (kind === 'nvfp4' ? smallFloat(byte, E4M3) : 2 ** (byte - 127));
  // The root mean square of all codes but NaN.
  const codes = Array.from({ length: 2 ** bits }, (_, code) => code).filter((code) => (code & 127) !== 127);
  const size = Math.sqrt(codes.reduce((sum, code) => sum + smallFloat(code, element) ** 2, 0) / codes.length);
  const usual = Array.from({ length: 127 }, (_, i) => (kind === 'nvfp4' ? i : 64 + i)).filter((byte) => {
    const part = scaleOf(byte) * size * Math.sqrt(columns);
    return part > 0.4 && part < 1.7;
  });
  const parts = once(() => {
    const choice = scales ?? usual;
    const chosen = integerArray(seed, rows * columns, codes.length).map((i) => codes[i]!);
    const bytes = integerArray(seed + 1, (rows * columns) / groupSize, choice.length).map((i) => choice[i]!);
    return { chosen, bytes };
  });
  const values = once(() => {
    const { chosen, bytes } = parts();
    return Float64Array.from(
      chosen,
      (code, i) => smallFloat(code, element) * scaleOf(bytes[Math.floor(i / groupSize)]!),
    );
  });
  return {
    rows,
    columns,
    get values() {
      return values();
    },
    upload: (device) => ({
      kind,
      rows,
      columns,
      weight: device.upload(packCodes(parts().chosen, bits), 'elements'),
      scales: device.upload(Uint8Array.from(parts().bytes), 'scales'),
    }),
  };
}

/** Sign, exponent, fraction: what the formats define. */
function smallFloat(code: number, [exponentBits, fractionBits]: SmallFloat): number {
  const bias = 2 ** (exponentBits - 1) - 1;
  const exponent = (code >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = (code & (2 ** fractionBits - 1)) / 2 ** fractionBits;
  const magnitude = exponent === 0 ? fraction * 2 ** (1 - bias) : (1 + fraction) * 2 ** (exponent - bias);
  return code >> (exponentBits + fractionBits) === 0 ? magnitude : -magnitude;
}

/** The parts of an affine matrix, with factors that their types represent exactly. */
function affineParts(seed: number, rows: number, columns: number, format: AffineFormat) {
  const { bits, groupSize, scaleDtype } = format;
  const next = randomSource(seed + 1);
  const highest = 2 ** bits - 1;
  const scales = new Float64Array((rows * columns) / groupSize);
  for (let i = 0; i < scales.length; i++) {
    scales[i] = roundTo(scaleDtype, (2 + 2 * next()) / (highest * Math.sqrt(columns)));
  }
  const biases = scales.map((scale) => roundTo(scaleDtype, (-scale * highest) / 2));
  return { codes: integerArray(seed, rows * columns, 2 ** bits), scales, biases };
}

/** offset + x for each number, rounded to a type. */
function rounded(dtype: FloatType, numbers: Float32Array, offset = 0): Float64Array {
  const values = new Float64Array(numbers.length);
  for (let i = 0; i < values.length; i++) values[i] = roundTo(dtype, offset + numbers[i]!);
  return values;
}

/** The result of `make`, computed on first use, so that importing the tables of cases does not create their data. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Element i occupies the bits from i·bits on in a little-endian stream. Rows are whole words, so one stream serves all.
 */
function packCodes(codes: Int32Array, bits: number): Uint8Array {
  const bytes = new Uint8Array((codes.length * bits) / 8);
  for (let i = 0; i < codes.length; i++) {
    const at = i * bits;
    // A code lies within one byte or spans two.
    const shifted = codes[i]! << (at & 7);
    bytes[at >>> 3]! |= shifted;
    if (shifted > 255) bytes[(at >>> 3) + 1]! |= shifted >>> 8;
  }
  return bytes;
}

function roundHalfEven(value: number): number {
  const floor = Math.floor(value);
  const rest = value - floor;
  if (rest !== 0.5) return Math.round(value);
  return floor % 2 === 0 ? floor : floor + 1;
}

/** The bits of a float16, from those of a float32 that it can represent exactly. */
function toFloat16(word: number): number {
  const sign = (word >>> 16) & 0x8000;
  const exponent = ((word >>> 23) & 0xff) - 127;
  const fraction = word & 0x7fffff;
  if (exponent >= -14) return sign | ((exponent + 15) << 10) | (fraction >>> 13);
  return exponent < -24 ? sign : sign | ((0x800000 | fraction) >>> (-1 - exponent));
}
