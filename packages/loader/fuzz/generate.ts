import type { Random } from './random.js';

const DTYPES: readonly (readonly [string, number])[] = [
  ['F4', 4],
  ['F6_E2M3', 6],
  ['F6_E3M2', 6],
  ...['BOOL', 'U8', 'I8', 'F8_E4M3', 'F8_E5M2', 'F8_E8M0', 'F8_E4M3FNUZ', 'F8_E5M2FNUZ'].map(eight),
  ['BF16', 16],
  ['F16', 16],
  ['F32', 32],
  ['I64', 64],
  ['C64', 64],
];
const NAMES = [
  'a',
  'b',
  '',
  '__proto__',
  'toString',
  'a.b/c',
  '☃',
  'x\\ny',
  '\\u0061',
  '\\ud83d\\ude00',
  '7',
  'long'.repeat(130),
];
const SPACES = ['', '', '', '', ' ', '\n', '\t  ', ' '.repeat(7)];
const EXTRAS = [
  '"z":1',
  '"z":[[],{}]',
  '"z":{"a":1,"b":[null,true,-0.5E+3]}',
  '"shape ":"x"',
  '"z":0e9999',
  '"z":{"a":1,"a":2}',
];
const METADATA = ['null', '{}', '{"a":"b"}', '{"a":"\\u0000","":""}', '{"a":"1","a":"2"}'];

function eight(name: string): [string, number] {
  return [name, 8];
}

/** A file that is valid, or invalid in a way that a changed byte would not produce. */
export function generate(random: Random): Uint8Array {
  const gap = (): string => random.pick(SPACES);
  const entries: string[] = [];
  let position = 0;
  for (let count = random.below(5); count > 0; count--) {
    const [dtype, bits] = random.pick(DTYPES);
    const shape = Array.from({ length: random.below(random.below(8) === 0 ? 12 : 4) }, () =>
      random.pick([0, 1, 1, 2, 4]),
    );
    const size = Math.ceil((shape.reduce((product, length) => product * length, 1) * bits) / 8);
    if (size > 512) continue;
    const begin = random.below(40) === 0 ? Math.max(0, position - 1) : position;
    const fields = [
      `"dtype"${gap()}:${gap()}"${dtype}"`,
      `"shape"${gap()}:${gap()}[${gap()}${shape.join(`${gap()},${gap()}`)}${gap()}]`,
      `"data_offsets":${gap()}[${begin}${gap()},${gap()}${begin + size}${gap()}]`,
    ];
    if (random.below(4) === 0) fields.push(random.pick(EXTRAS));
    if (random.below(3) === 0) fields.sort(() => random.below(3) - 1);
    entries.push(
      `${gap()}"${random.pick(NAMES)}"${gap()}:${gap()}{${gap()}${fields.join(`${gap()},${gap()}`)}${gap()}}`,
    );
    position = begin + size;
  }
  if (random.below(3) === 0) entries.push(`"__metadata__":${random.pick(METADATA)}`);
  if (random.below(3) === 0) entries.reverse();
  const header = new TextEncoder().encode(`${gap()}{${entries.join(',')}${gap()}}${gap()}`);
  const file = new Uint8Array(8 + header.length + position);
  new DataView(file.buffer).setBigUint64(0, BigInt(header.length), true);
  file.set(header, 8);
  for (let at = 8 + header.length; at < file.length; at++) file[at] = random.below(256);
  return file;
}
