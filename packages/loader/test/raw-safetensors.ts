import { writeFile } from 'node:fs/promises';

/** The bytes of a safetensors file with exactly this header text, valid or not. */
export function rawSafetensors(
  header: string | Uint8Array,
  data: Uint8Array = new Uint8Array(0),
): Uint8Array {
  const text = typeof header === 'string' ? new TextEncoder().encode(header) : header;
  const file = new Uint8Array(8 + text.length + data.length);
  new DataView(file.buffer).setBigUint64(0, BigInt(text.length), true);
  file.set(text, 8);
  file.set(data, 8 + text.length);
  return file;
}

/** Writes small float32 tensors, in the given order, with `values` counting up from 0. */
export async function writeTensors(
  path: string,
  shapes: Readonly<Record<string, readonly number[]>>,
): Promise<void> {
  let begin = 0;
  const entries = Object.entries(shapes).map(([name, shape]) => {
    const end = begin + 4 * shape.reduce((product, length) => product * length, 1);
    const entry = `${JSON.stringify(name)}:${JSON.stringify({ dtype: 'F32', shape, data_offsets: [begin, end] })}`;
    begin = end;
    return entry;
  });
  const values = Float32Array.from({ length: begin / 4 }, (_, index) => index);
  await writeFile(path, rawSafetensors(`{${entries.join(',')}}`, new Uint8Array(values.buffer)));
}
