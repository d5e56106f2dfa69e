/** A checksum over bytes: polynomials over bits, the highest first, beginning with 0. */
export type Checksum = (bytes: Uint8Array) => number;

/**
 * The checksum of a polynomial of up to 32 bits.
 *
 * @param polynomial without its leading term
 */
export function checksum(width: 8 | 16 | 32, polynomial: number): Checksum {
  const top = width - 8;
  const table = Uint32Array.from({ length: 256 }, (_, byte) => {
    let value = (byte << top) >>> 0;
    for (let bit = 0; bit < 8; bit += 1) {
      const isSet = (value >>> (width - 1)) & 1;
      value = ((value << 1) ^ (isSet ? polynomial : 0)) >>> 0;
      if (width < 32) value &= 2 ** width - 1;
    }
    return value;
  });
  const mask = width === 32 ? -1 : 2 ** width - 1;
  return (bytes) => {
    let value = 0;
    for (let j = 0; j < bytes.length; j += 1) {
      value = ((value << 8) & mask) ^ table[((value >>> top) ^ bytes[j]!) & 0xff]!;
    }
    return value >>> 0;
  };
}
