import type { Random } from './random.js';

/** Fragments of headers that random bytes would rarely produce. */
const PIECES = [
  ...['{', '}', '[', ']', ',', ':', '"', '\\', ' ', '\n', '\t', '\0', '\ufeff', '\\u0041', '\\ud800', '\\n'],
  ...['"__metadata__":', '"__metadata__":{}', '"__metadata__":null', '"\\u005f_metadata__":{},', '"a":"b"'],
  ...[
    '"dtype":',
    '"shape":',
    '"data_offsets":',
    '"dtype":"F4",',
    '"extra":[[{}]],',
    '"x":1e999,',
    '"x":-0.5e-3,',
  ],
  ...[
    '"U8"',
    '"BF16"',
    '"F32"',
    '"F4"',
    '"F6_E2M3"',
    '"F6_E3M2"',
    '"C64"',
    '"F8_E8M0"',
    '"I4"',
    '"bool"',
    '"BOOL"',
  ],
  ...['['.repeat(70), `[${'1,'.repeat(64)}1]`, `"${'n'.repeat(600)}"`, '"\u0001"', 'GGUF', '<html'],
  ...['[]', '[0]', '[0,0]', '[1]', '[2,0]', '[1,1,1,1,1,1,1,1,1]', '[0,1]', '[1,0]', '[0,1,2]'],
  ...['0', '1', '-1', '-0', '01', '1.0', '1e0', 'null', 'true', '{}', '2', '3', '4', '7', '8', '16'],
  ...['9007199254740991', '9007199254740992', '18446744073709551615', '18446744073709551616', '4294967296'],
  ...[',"t":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}', '"":', '"__proto__":', '"constructor":'],
];
const encoder = new TextEncoder();
const encodedPieces = PIECES.map((piece) => encoder.encode(piece));
const MAX_BYTES = 4096;

/** A modified copy of `parent`: changed bytes, fragments, numbers, or a part of `other`; often with adjusted lengths. */
export function mutate(parent: Uint8Array, other: Uint8Array, random: Random): Uint8Array {
  let bytes = [...parent];
  const rounds = random.below(2) === 0 ? 1 : 1 + random.below(6);
  for (let round = 0; round < rounds; round++) bytes = step(bytes, other, random);
  if (bytes.length > MAX_BYTES) bytes.length = MAX_BYTES;
  const file = Uint8Array.from(bytes);
  return random.below(10) < 8 ? withFittingLengths(file, parent, random) : file;
}

function step(bytes: number[], other: Uint8Array, random: Random): number[] {
  // Mostly after the length field, which is adjusted afterwards anyway.
  const at = random.below(8) === 0 ? random.below(9) : Math.min(8 + random.below(bytes.length), bytes.length);
  const length = 1 + random.below(random.below(2) === 0 ? 4 : 64);
  switch (random.below(9)) {
    case 0:
      return bytes.map((byte, index) => (index === at ? byte ^ (1 << random.below(8)) : byte));
    case 1:
      return bytes.map((byte, index) => (index === at ? random.below(256) : byte));
    case 2:
      return [...bytes.slice(0, at), ...bytes.slice(at + length)];
    case 3:
    case 4:
      return [...bytes.slice(0, at), ...random.pick(encodedPieces), ...bytes.slice(at)];
    case 5:
      return [...bytes.slice(0, at), ...random.pick(encodedPieces), ...bytes.slice(at + length)];
    case 6: {
      const from = random.below(other.length + 1);
      return [...bytes.slice(0, at), ...other.subarray(from, from + length * 4), ...bytes.slice(at)];
    }
    case 7: {
      const from = random.below(bytes.length + 1);
      return [...bytes.slice(0, at), ...bytes.slice(from, from + length * 2), ...bytes.slice(at)];
    }
    default:
      return otherNumber(bytes, random);
  }
}

/** Replaces one of the numbers by a close or a special one. */
function otherNumber(bytes: number[], random: Random): number[] {
  const text = Buffer.from(bytes).toString('latin1');
  const numbers = [...text.matchAll(/[0-9]+/g)];
  if (numbers.length === 0) return bytes;
  const { 0: digits, index } = random.pick(numbers);
  const value = BigInt(digits.slice(0, 30));
  const near = value + BigInt(random.below(17)) - 8n;
  const changed = random.pick([near, value * 2n, value / 2n, value ^ (1n << BigInt(random.below(66)))]);
  return [
    ...bytes.slice(0, index),
    ...encoder.encode(String(changed)),
    ...bytes.slice(index + digits.length),
  ];
}

/** Adjusts the length field, and often the amount of data, to the header: otherwise most files would be refused there. */
function withFittingLengths(file: Uint8Array, parent: Uint8Array, random: Random): Uint8Array {
  const dataBytes = parent.length - 8 - headerLength(parent);
  const headerBytes = Math.max(0, file.length - 8 - Math.max(0, dataBytes));
  const ends = [
    ...Buffer.from(file)
      .toString('latin1')
      .matchAll(/"data_offsets" *: *\[ *[0-9]+ *, *([0-9]{1,4})\b/g),
  ];
  const wanted = random.below(4) === 0 ? dataBytes : Math.max(0, ...ends.map(([, end]) => Number(end)));
  const fitting = new Uint8Array(8 + headerBytes + Math.max(0, Math.min(wanted, MAX_BYTES)));
  new DataView(fitting.buffer).setBigUint64(0, BigInt(headerBytes), true);
  fitting.set(file.subarray(8, 8 + headerBytes), 8);
  return fitting;
}

function headerLength(file: Uint8Array): number {
  if (file.length < 8) return 0;
  const length = new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true);
  return length > BigInt(file.length - 8) ? 0 : Number(length);
}
