import { CorruptFileError, hasErrorCode } from '@markbase/core';
import { MAX_HEADER_BYTES } from '../limits.js';
import { allocateBytes } from '../sources/allocate-bytes.js';
import type { ByteSource } from '../sources/byte-source.js';
import { foreignFormat } from './foreign-format.js';
import { type HeaderOptions, PREFIX_BYTES, parseHeader } from './header.js';
import { TensorView } from './tensor-view.js';

/** An opened safetensors file: its header, checked. */
export interface SafetensorsFile {
  /** Absolute path, or address; `(memory)`, `(blob)` or the name of a blob if there is neither. */
  readonly path: string;
  /** The free-form strings of `__metadata__`. */
  readonly metadata: Map<string, string>;
  /** Tensors by the names in the file. */
  readonly tensors: Map<string, TensorView>;
}

/** What to allow in a header. */
export interface ReadOptions extends HeaderOptions {
  /** Largest header in bytes, inclusive; default `MAX_HEADER_BYTES`. */
  readonly maxHeaderBytes?: number;
}

/**
 * Reads and checks the header from `source`.
 *
 * @param tensorSource where the tensors will read from, when the header comes through a short-lived source
 * @throws CorruptFileError, with `rule`, when the file breaks the format; and whatever reading the source throws
 */
export async function readSafetensors(
  source: ByteSource,
  options: ReadOptions = {},
  tensorSource: ByteSource = source,
): Promise<SafetensorsFile> {
  const { label: path, sizeBytes } = source;
  try {
    const headerBytes = await readHeaderLength(source, options.maxHeaderBytes ?? MAX_HEADER_BYTES);
    const bytes = allocateBytes(headerBytes, `the header of ${path}`);
    await source.read(bytes, PREFIX_BYTES);
    const dataStart = PREFIX_BYTES + headerBytes;
    const header = parseHeader(bytes, sizeBytes - dataStart, path, options);
    const tensors = new Map<string, TensorView>();
    for (const { name, dtype, shape, begin, end } of header.entries.values()) {
      const range = { path, offsetBytes: dataStart + begin, sizeBytes: end - begin };
      tensors.set(name, new TensorView(name, dtype, shape, range, tensorSource));
    }
    return { path, metadata: header.metadata, tensors };
  } catch (error) {
    throw await explain(error, source);
  }
}

async function readHeaderLength(source: ByteSource, maxHeaderBytes: number): Promise<number> {
  const { label: path, sizeBytes } = source;
  const fail = (rule: string, reason: string): never => {
    throw new CorruptFileError({ rule, path, reason });
  };
  if (sizeBytes < PREFIX_BYTES) {
    fail('HeaderTooSmall', `the file has ${sizeBytes} bytes, expected at least 8; download it again`);
  }
  const prefix = new Uint8Array(PREFIX_BYTES);
  await source.read(prefix, 0);
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  if (length > BigInt(maxHeaderBytes)) {
    const advice = 'if you trust the file, raise maxHeaderBytes';
    fail(
      'HeaderTooLarge',
      `the header claims to have ${length} bytes, but the limit is ${maxHeaderBytes}; ${advice}`,
    );
  }
  if (length === 0n) fail('InvalidHeader', 'the header is empty, expected at least "{}"');
  const headerBytes = Number(length);
  const missing = headerBytes - (sizeBytes - PREFIX_BYTES);
  if (missing > 0) {
    const reason = `the header ends ${missing} bytes after the end of the file; download it again`;
    fail('InvalidHeaderLength', reason);
  }
  return headerBytes;
}

/** Replaces an error about the header with a better one if the file is something else entirely. */
async function explain(error: unknown, source: ByteSource): Promise<unknown> {
  if (!hasErrorCode(error, 'CORRUPT_FILE')) return error;
  const start = new Uint8Array(Math.min(source.sizeBytes, PREFIX_BYTES + 64));
  try {
    await source.read(start, 0);
  } catch {
    return error;
  }
  const advice = foreignFormat(start) ?? foreignFormat(start.subarray(PREFIX_BYTES));
  if (advice === null) return error;
  return new CorruptFileError({ rule: 'NotSafetensors', path: source.label, reason: advice, cause: error });
}
