import { type DType, dtypeBits, InvalidArgumentError, isDType } from '@markbase/core';
import { MAX_HEADER_BYTES } from '../limits.js';
import { PREFIX_BYTES, tensorBytes } from './header.js';
import { shown } from './header-cursor.js';

/** A tensor before it has a place in a file. */
export interface TensorSpec {
  /** Name in the file. */
  readonly name: string;
  /** Element type. */
  readonly dtype: DType;
  /** Lengths of the axes; empty for a scalar. */
  readonly shape: readonly number[];
}

/** Place of a tensor in a file to be written. */
export interface PlannedTensor {
  /** First byte, from the beginning of the file. */
  readonly offsetBytes: number;
  /** Number of bytes. */
  readonly sizeBytes: number;
}

/** The first bytes of a file, and the absolute places of its tensors. */
export interface FileLayout {
  /** Header length and header. */
  readonly header: Uint8Array;
  /** Places by name. */
  readonly tensors: ReadonlyMap<string, PlannedTensor>;
  /** Size of the file. */
  readonly totalBytes: number;
}

/** Alignment of the data section and, for mapped files, of every tensor. */
const ALIGNMENT_BYTES = 8;

/**
 * Plans a safetensors file: widest dtype first, then by name, the header padded with spaces, so that every tensor is
 * aligned for its dtype.
 *
 * @throws InvalidArgumentError for equal or reserved names, unknown dtypes and impossible shapes
 */
export function planFile(
  specs: Iterable<TensorSpec>,
  metadata: Readonly<Record<string, string>>,
): FileLayout {
  const sorted = [...specs].sort(
    (a, b) => dtypeBits(b.dtype) - dtypeBits(a.dtype) || (a.name < b.name ? -1 : 1),
  );
  const names = new Set<string>();
  const entries: string[] = [];
  const spans: [string, number, number][] = [];
  if (Object.keys(metadata).length > 0)
    entries.push(`"__metadata__":${JSON.stringify(checkMetadata(metadata))}`);
  let begin = 0;
  for (const spec of sorted) {
    const { name, dtype, shape } = spec;
    const sizeBytes = checkedSize(spec, names);
    const end = begin + sizeBytes;
    // Built by hand: as keys of an object, names such as "1" or "__proto__" would be reordered or lost.
    entries.push(`${JSON.stringify(name)}:${JSON.stringify({ dtype, shape, data_offsets: [begin, end] })}`);
    spans.push([name, begin, sizeBytes]);
    begin = end;
  }
  const header = encodeHeader(`{${entries.join(',')}}`);
  const tensors = new Map(
    spans.map(([name, start, sizeBytes]) => [name, { offsetBytes: header.length + start, sizeBytes }]),
  );
  return { header, tensors, totalBytes: header.length + begin };
}

/** Bytes of a tensor; what cannot be stored is an `InvalidArgumentError`. */
export function specBytes({ name, dtype, shape }: TensorSpec): number {
  const isShape = shape.every((length) => Number.isInteger(length) && length >= 0);
  const sizeBytes = isDType(dtype) && isShape ? tensorBytes(dtype, shape) : null;
  if (sizeBytes !== null) return sizeBytes;
  throw new InvalidArgumentError({
    argument: `tensor ${shown(name)}`,
    expected: 'a dtype of safetensors and a shape of whole numbers that fill whole bytes',
    received: { dtype, shape },
  });
}

function checkedSize(spec: TensorSpec, names: Set<string>): number {
  const { name } = spec;
  if (name === '__metadata__' || names.has(name) || /\p{Surrogate}/u.test(name)) {
    throw new InvalidArgumentError({
      argument: 'tensors',
      expected: 'distinct, well-formed names other than "__metadata__"',
      received: name,
    });
  }
  names.add(name);
  return specBytes(spec);
}

function checkMetadata(metadata: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  for (const [key, value] of Object.entries(metadata)) {
    if (typeof value === 'string') continue;
    throw new InvalidArgumentError({ argument: `metadata.${key}`, expected: 'a string', received: value });
  }
  return metadata;
}

function encodeHeader(text: string): Uint8Array {
  const json = new TextEncoder().encode(text);
  const length = Math.ceil(json.length / ALIGNMENT_BYTES) * ALIGNMENT_BYTES;
  if (length > MAX_HEADER_BYTES) {
    throw new InvalidArgumentError({
      argument: 'tensors',
      expected: `a header of at most ${MAX_HEADER_BYTES} bytes`,
      received: length,
      hint: 'Write several files',
    });
  }
  const header = new Uint8Array(PREFIX_BYTES + length).fill(0x20);
  new DataView(header.buffer).setBigUint64(0, BigInt(length), true);
  header.set(json, PREFIX_BYTES);
  return header;
}
