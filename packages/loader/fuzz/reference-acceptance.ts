import { type JsonValue, parseJson } from './reference-json.js';

/** A tensor as interpreted by the reference reader. */
export interface ReferenceTensor {
  readonly dtype: string;
  readonly shape: readonly bigint[];
  readonly begin: bigint;
  readonly end: bigint;
}

/** Bits of one element, from the documentation of the format. */
const BITS = new Map<string, bigint>([
  ['F4', 4n],
  ...['F6_E2M3', 'F6_E3M2'].map((name): [string, bigint] => [name, 6n]),
  ...'BOOL U8 I8 F8_E5M2 F8_E4M3 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ'
    .split(' ')
    .map((name): [string, bigint] => [name, 8n]),
  ...['I16', 'U16', 'F16', 'BF16'].map((name): [string, bigint] => [name, 16n]),
  ...['I32', 'U32', 'F32'].map((name): [string, bigint] => [name, 32n]),
  ...['C64', 'F64', 'I64', 'U64'].map((name): [string, bigint] => [name, 64n]),
]);
const U64 = 2n ** 64n;

/**
 * The behaviour of the format's reference reader (Rust, 0.8), restated in exact arithmetic: the tensors that it accepts, or null if it
 * refuses.
 *
 * It follows the reference reader in two lenient points: of equal tensor names and of equal metadata keys, the last one counts. For odd
 * spellings that the reference accepts (an entry as an array, a dtype as an object) this returns null; a reader that accepts those is laxer
 * than the documentation of the format.
 */
export function referenceTensors(file: Uint8Array): Map<string, ReferenceTensor> | null {
  if (file.length < 8) return null;
  const headerBytes = new DataView(file.buffer, file.byteOffset, 8).getBigUint64(0, true);
  if (headerBytes > 100_000_000n || headerBytes + 8n > BigInt(file.length)) return null;
  const dataStart = 8 + Number(headerBytes);
  const header = parseJson(file.subarray(8, dataStart));
  if (header === null || header.kind !== 'object') return null;
  const tensors = new Map<string, ReferenceTensor>();
  let metadataCount = 0;
  for (const [name, value] of header.members) {
    if (name === '__metadata__') {
      metadataCount++;
      if (metadataCount > 1 || !isMetadata(value)) return null;
      continue;
    }
    const tensor = tensorOf(value);
    if (tensor === null) return null;
    tensors.set(name, tensor);
  }
  const end = coveredBytes([...tensors.values()]);
  return end !== null && end === BigInt(file.length - dataStart) ? tensors : null;
}

function isMetadata(value: JsonValue): boolean {
  if (value.kind === 'null') return true;
  return value.kind === 'object' && value.members.every(([, member]) => member.kind === 'string');
}

/** The three fields, each exactly once; other fields are ignored. */
function tensorOf(value: JsonValue): ReferenceTensor | null {
  if (value.kind !== 'object') return null;
  const field = (name: string): JsonValue | null => {
    const found = value.members.filter(([key]) => key === name);
    return found.length === 1 ? found[0]![1] : null;
  };
  const dtype = field('dtype');
  const shape = sizesOf(field('shape'));
  const offsets = sizesOf(field('data_offsets'));
  if (dtype?.kind !== 'string' || !BITS.has(dtype.text) || shape === null || offsets?.length !== 2)
    return null;
  return { dtype: dtype.text, shape, begin: offsets[0]!, end: offsets[1]! };
}

function sizesOf(value: JsonValue | null): bigint[] | null {
  if (value?.kind !== 'array') return null;
  const sizes = value.items.map((item) =>
    item.kind === 'number' && /^[0-9]+$/.test(item.text) && BigInt(item.text) < U64
      ? BigInt(item.text)
      : null,
  );
  return sizes.every((size) => size !== null) ? sizes : null;
}

/** End of the spans if they are contiguous from 0 and match the size of their shapes; otherwise null. */
function coveredBytes(tensors: readonly ReferenceTensor[]): bigint | null {
  const sorted = [...tensors].sort((a, b) => Number(a.begin - b.begin) || Number(a.end - b.end));
  let position = 0n;
  for (const { dtype, shape, begin, end } of sorted) {
    if (begin !== position || end < begin) return null;
    let bits = 1n;
    for (const length of [...shape, BITS.get(dtype)!]) {
      bits *= length;
      if (bits >= U64) return null;
    }
    if (bits % 8n !== 0n || bits / 8n !== end - begin) return null;
    position = end;
  }
  return position;
}
