const MULTIPLIER = 0x01000193;

/** One step of the hash of a byte string: h' = h·K + byte (mod 2³²); the empty string has hash 0. */
export function hashByte(hash: number, byte: number): number {
  return (Math.imul(hash, MULTIPLIER) + byte) | 0;
}

/** Hash of `bytes[begin, end)`. */
export function hashBytes(bytes: Uint8Array, begin: number, end: number): number {
  let hash = 0;
  for (let index = begin; index < end; index++) hash = hashByte(hash, bytes[index]!);
  return hash;
}

const powers = new Int32Array(1024);
powers[0] = 1;
for (let index = 1; index < powers.length; index++) powers[index] = Math.imul(powers[index - 1]!, MULTIPLIER);

/** Hash of two concatenated byte strings, from their hashes: h(ab) = h(a)·K^|b| + h(b). */
export function combineHashes(first: number, second: number, secondLength: number): number {
  let shifted = first;
  let left = secondLength;
  for (; left >= powers.length; left -= powers.length - 1) {
    shifted = Math.imul(shifted, powers[powers.length - 1]!);
  }
  return (Math.imul(shifted, powers[left]!) + second) | 0;
}

/** Spreads a hash over all 32 bits, so that its low bits can select a slot of a table. */
export function spreadHash(hash: number): number {
  let mixed = hash ^ (hash >>> 16);
  mixed = Math.imul(mixed, 0x7feb352d);
  mixed ^= mixed >>> 15;
  mixed = Math.imul(mixed, 0x846ca68b);
  return mixed ^ (mixed >>> 16);
}
