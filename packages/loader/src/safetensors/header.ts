import { CorruptFileError, type DType, dtypeBits, isDType } from '@markbase/core';
import { MAX_TENSOR_COUNT, MAX_TENSOR_RANK } from '../limits.js';
import { HeaderCursor, type HeaderFailure, shown } from './header-cursor.js';

/** One entry of a header: what the tensor is, and which bytes of the data section belong to it. */
export interface HeaderEntry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** First byte, counted from the start of the data section. */
  readonly begin: number;
  /** End of its bytes, exclusive. */
  readonly end: number;
}

/** A checked header. */
export interface Header {
  readonly metadata: Map<string, string>;
  readonly entries: Map<string, HeaderEntry>;
}

/** What to allow in a header. */
export interface HeaderOptions {
  /** Most tensors; default `MAX_TENSOR_COUNT`. */
  readonly maxTensorCount?: number;
  /**
   * strict (default): values of `__metadata__` must be strings, as the format requires; lenient: others are kept as
   * their JSON text.
   */
  readonly metadataValues?: 'strict' | 'lenient';
}

/** Length of the number before the header. */
export const PREFIX_BYTES = 8;

// The two usual spellings of a name and its entry: the reference writer's, and MLX's with its keys sorted. Every repetition
// is bounded, so that no header can make the match slow. The strict reader handles everything that they do not match.
const SPACE = '[ \\t\\r\\n]{0,4}';
const SIZE = '(?:0|[1-9][0-9]{0,14})';
const NAME = '"((?!__metadata__")[ !#-[\\]-\\uffff]{0,500})"';
const DTYPE = `"dtype"${SPACE}:${SPACE}"([A-Z0-9_]{1,16})"`;
const SHAPE = `"shape"${SPACE}:${SPACE}\\[(${SPACE}(?:${SIZE}${SPACE}(?:,${SPACE}${SIZE}${SPACE}){0,7})?)\\]`;
const OFFSETS = `"data_offsets"${SPACE}:${SPACE}\\[${SPACE}(${SIZE})${SPACE},${SPACE}(${SIZE})${SPACE}\\]`;
const ENTRY_BY_IMPORTANCE = entryPattern(DTYPE, SHAPE, OFFSETS);
const ENTRY_BY_ALPHABET = entryPattern(OFFSETS, DTYPE, SHAPE);

function entryPattern(...fields: readonly string[]): RegExp {
  const entry = fields.join(`${SPACE},${SPACE}`);
  return new RegExp(`${SPACE}${NAME}${SPACE}:${SPACE}\\{${SPACE}${entry}${SPACE}\\}`, 'y');
}

/**
 * Parses and checks the header of a safetensors file completely.
 *
 * Afterwards every entry has a known dtype, a span that is exactly as long as its shape says, and the spans cover the data
 * section without overlaps or gaps. Time O(n log n) in the number of tensors.
 *
 * @param bytes the header text, without the 8 bytes before it
 * @param dataBytes bytes of the file after the header
 * @param path of the file, for messages
 * @throws CorruptFileError with the violated rule
 */
export function parseHeader(
  bytes: Uint8Array,
  dataBytes: number,
  path: string,
  options: HeaderOptions = {},
): Header {
  const text = decode(bytes, path);
  const isAscii = text.length === bytes.length;
  const fail: HeaderFailure = (rule, reason, position) => {
    const offsetBytes = position !== undefined && isAscii ? PREFIX_BYTES + position : undefined;
    throw new CorruptFileError({ rule, path, reason, offsetBytes });
  };
  const header = readEntries(new HeaderCursor(text, fail), options);
  for (const entry of header.entries.values()) checkSpanLength(entry, fail);
  checkCoverage(header.entries, dataBytes, fail);
  return header;
}

/** Bytes that `shape` takes in `dtype`, or null when the number is not exact or not whole. */
export function tensorBytes(dtype: DType, shape: readonly number[]): number | null {
  let count = 1;
  for (const length of shape) {
    // A zero counts last, wherever it is: the verdict must not depend on the order of the axes.
    count *= length || 1;
    if (!Number.isSafeInteger(count * dtypeBits(dtype))) return null;
  }
  if (shape.includes(0)) return 0;
  const bits = count * dtypeBits(dtype);
  return Number.isSafeInteger(bits) && bits % 8 === 0 ? bits / 8 : null;
}

function decode(bytes: Uint8Array, path: string): string {
  try {
    // ignoreBOM keeps a byte order mark in the text, so that the reader refuses it, as the format requires.
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    throw new CorruptFileError({ rule: 'InvalidHeader', path, reason: 'the header is not UTF-8', cause });
  }
}

function readEntries(cursor: HeaderCursor, options: HeaderOptions): Header {
  const maxTensorCount = options.maxTensorCount ?? MAX_TENSOR_COUNT;
  const isLenient = options.metadataValues === 'lenient';
  const metadata = new Map<string, string>();
  const entries = new Map<string, HeaderEntry>();
  const add = (entry: HeaderEntry): void => {
    // The first of two equal names stays; the cursor refuses the second.
    if (!entries.has(entry.name)) entries.set(entry.name, entry);
    if (entries.size > maxTensorCount) {
      cursor.fail('TooManyTensors', `the header has more than ${maxTensorCount} tensors; see maxTensorCount`);
    }
  };
  const readOther = (name: string): void => {
    if (name === '__metadata__') readMetadata(cursor, metadata, isLenient);
    else add(readEntry(cursor, name));
  };
  const readUsual = (): string | null => {
    const entry = readUsualEntry(cursor);
    if (entry === null) return null;
    add(entry);
    return entry.name;
  };
  cursor.object('the header', readOther, readUsual);
  cursor.end();
  return { metadata, entries };
}

function readMetadata(cursor: HeaderCursor, metadata: Map<string, string>, isLenient: boolean): void {
  if (cursor.acceptNull()) return;
  const what = 'a value of "__metadata__"';
  cursor.object('"__metadata__"', (key) => {
    metadata.set(key, isLenient ? cursor.stringOrText(what) : cursor.string(what));
  });
}

/** Reads a name and an entry that are written as usual; null, with nothing consumed, when they might be wrong. */
function readUsualEntry(cursor: HeaderCursor): HeaderEntry | null {
  let match = cursor.match(ENTRY_BY_IMPORTANCE);
  let [, name, dtype, shape, begin, end] = match ?? [];
  if (match === null) {
    match = cursor.match(ENTRY_BY_ALPHABET);
    [, name, begin, end, dtype, shape] = match ?? [];
  }
  if (name === undefined || dtype === undefined || shape === undefined) return null;
  if (!isDType(dtype))
    cursor.fail('UnknownDtype', `tensor ${shown(name)}: the dtype ${shown(dtype)} is unknown`);
  // A number of up to 15 digits is exact, and the patterns match no longer ones.
  const sizes = shape.trim() === '' ? [] : shape.split(',').map(Number);
  return { name, dtype, shape: sizes, begin: Number(begin), end: Number(end) };
}

function readEntry(cursor: HeaderCursor, name: string): HeaderEntry {
  let dtype: DType | null = null;
  let shape: number[] | null = null;
  let offsets: number[] | null = null;
  cursor.tensor = name;
  cursor.object('its entry', (key) => {
    if (key === 'dtype') dtype = readDType(cursor);
    else if (key === 'shape') shape = readSizes(cursor, 'shape', MAX_TENSOR_RANK);
    else if (key === 'data_offsets') offsets = readSizes(cursor, 'data_offsets', 2);
    // Fields that the format may gain later are allowed, as in the reference reader.
    else cursor.skip('an unknown field');
  });
  const missing =
    dtype === null ? 'dtype' : shape === null ? 'shape' : offsets === null ? 'data_offsets' : null;
  if (missing !== null) cursor.fail('InvalidHeaderDeserialization', `${missing} is missing`);
  const [begin, end] = offsets! as number[];
  if (begin === undefined || end === undefined) {
    return cursor.fail('InvalidHeaderDeserialization', 'data_offsets must be two numbers');
  }
  cursor.tensor = null;
  return { name, dtype: dtype!, shape: shape!, begin, end };
}

function readDType(cursor: HeaderCursor): DType {
  const dtype = cursor.string('dtype');
  return isDType(dtype) ? dtype : cursor.fail('UnknownDtype', `the dtype ${shown(dtype)} is unknown`);
}

function readSizes(cursor: HeaderCursor, what: string, maxCount: number): number[] {
  const sizes: number[] = [];
  cursor.array(what, () => {
    if (sizes.length === maxCount) {
      cursor.fail('InvalidHeaderDeserialization', `${what} has more than ${maxCount} numbers`);
    }
    sizes.push(cursor.size(what));
  });
  return sizes;
}

function checkSpanLength(entry: HeaderEntry, fail: HeaderFailure): void {
  const { name, dtype, shape, begin, end } = entry;
  const size = tensorBytes(dtype, shape);
  if (size === end - begin) return;
  const what = `tensor ${shown(name)}`;
  if (end < begin) fail('InvalidOffset', `${what} ends at byte ${end}, before it begins at ${begin}`);
  if (size === null) {
    const count = shape.reduce((product, length) => product * (length || 1), 1);
    if (Number.isSafeInteger(count * dtypeBits(dtype))) {
      fail('MisalignedSlice', `${what}: ${count} elements of ${dtype} do not fill whole bytes`);
    }
    fail('ValidationOverflow', `${what}: the shape [${shape}] has more than 2^53 - 1 bits`);
  }
  fail('TensorInvalidInfo', `${what}: ${dtype} [${shape}] needs ${size} bytes, but spans ${end - begin}`);
}

/** Requires that the spans, sorted, follow each other from byte 0 to the end of the file. */
function checkCoverage(entries: Map<string, HeaderEntry>, dataBytes: number, fail: HeaderFailure): void {
  const sorted = [...entries.values()].sort((a, b) => a.begin - b.begin || a.end - b.end);
  let position = 0;
  for (const entry of sorted) {
    if (entry.begin !== position) {
      const problem = entry.begin < position ? 'overlaps the tensor before it' : 'leaves a gap before it';
      fail(
        'InvalidOffset',
        `tensor ${shown(entry.name)} ${problem}: it begins at ${entry.begin}, expected ${position}`,
      );
    }
    position = entry.end;
  }
  if (position > dataBytes) {
    fail(
      'MetadataIncompleteBuffer',
      `the file is truncated: ${position - dataBytes} of ${position} bytes of data are missing; download it again`,
    );
  }
  if (position < dataBytes) {
    fail(
      'MetadataIncompleteBuffer',
      `${dataBytes - position} bytes after the last tensor belong to no tensor`,
    );
  }
}
