import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const HEADERS: readonly (readonly [string, number])[] = [
  ['{}', 0],
  ['{"__metadata__":{"format":"pt"}}', 0],
  ['{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}  ', 2],
  [
    '{"a":{"data_offsets":[0,4],"dtype":"BF16","shape":[2]},"b":{"data_offsets":[4,4],"dtype":"F32","shape":[0]}}',
    4,
  ],
  [
    '{"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},"b":{"dtype":"F32","shape":[],"data_offsets":[2,6]}}',
    6,
  ],
  [
    '{ "\\u0061" : { "shape" : [ 1 , 3 ] , "dtype" : "F64", "x" : {"y":[true,null,-1.5e3]}, "data_offsets" : [0,24] } }',
    24,
  ],
  ['{"__metadata__":null,"f":{"dtype":"F6_E2M3","shape":[4],"data_offsets":[0,3]}}', 3],
];

/** Small valid files: handwritten ones, and the first tensors of every file in a folder of checkpoints. */
export function seedFiles(fixtures: string): Uint8Array[] {
  const seeds = HEADERS.map(([header, dataBytes]) => fileOf(header, dataBytes));
  for (const name of readdirSync(fixtures, { recursive: true, encoding: 'utf8' }).sort()) {
    if (name.endsWith('.safetensors')) seeds.push(firstTensors(readFileSync(join(fixtures, name))));
  }
  return seeds;
}

/** The first three entries of a file, with a few bytes instead of their data. */
function firstTensors(file: Uint8Array): Uint8Array {
  const length = Number(new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true));
  const header = JSON.parse(Buffer.from(file.subarray(8, 8 + length)).toString()) as Record<string, object>;
  let end = 0;
  const entries = Object.entries(header)
    .slice(0, 4)
    .map(([name, entry]) => {
      if (name === '__metadata__') return [name, entry];
      end += 4;
      return [name, { ...entry, dtype: 'BF16', shape: [1, 2], data_offsets: [end - 4, end] }];
    });
  return fileOf(JSON.stringify(Object.fromEntries(entries)), end);
}

function fileOf(header: string, dataBytes: number): Uint8Array {
  const text = Buffer.from(header);
  const file = new Uint8Array(8 + text.length + dataBytes);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  return file;
}
