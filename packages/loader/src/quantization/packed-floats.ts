/** Floats of less than a byte, as the OCP microscaling formats define them: no infinity, no NaN. */
const FORMATS = {
  F4: { bits: 4, fractionBits: 1, bias: 1 },
  F6_E2M3: { bits: 6, fractionBits: 3, bias: 1 },
  F6_E3M2: { bits: 6, fractionBits: 2, bias: 3 },
} as const;

/** Types whose elements share bytes. */
export type PackedFloatDType = keyof typeof FORMATS;

/**
 * Unpacks elements that are stored consecutively from the lowest bit of the first byte, exactly, as float32.
 *
 * The first of two F4 values in a byte is its lower half, and four F6 values are three bytes, read as a little-endian
 * number of 24 bits. The format itself says only how many bits there are; this order is the usual one.
 */
export function unpackFloats(bytes: Uint8Array, dtype: PackedFloatDType): Float32Array {
  const { bits } = FORMATS[dtype];
  const table = Float32Array.from({ length: 1 << bits }, (_, code) => decode(code, dtype));
  const values = new Float32Array(Math.floor((bytes.length * 8) / bits));
  const mask = (1 << bits) - 1;
  for (let i = 0, bit = 0; i < values.length; i++, bit += bits) {
    const byte = Math.floor(bit / 8);
    const pair = bytes[byte]! | ((bytes[byte + 1] ?? 0) << 8);
    values[i] = table[(pair >> (bit % 8)) & mask]!;
  }
  return values;
}

/** (-1)^sign * 2^(exponent - bias) * 1.fraction; exponent 0: 2^(1 - bias) * 0.fraction. */
function decode(code: number, dtype: PackedFloatDType): number {
  const { bits, fractionBits, bias } = FORMATS[dtype];
  const signBit = 1 << (bits - 1);
  const sign = code & signBit ? -1 : 1;
  const exponent = (code & (signBit - 1)) >> fractionBits;
  const fraction = (code & ((1 << fractionBits) - 1)) / (1 << fractionBits);
  return exponent === 0 ? sign * fraction * 2 ** (1 - bias) : sign * (1 + fraction) * 2 ** (exponent - bias);
}
