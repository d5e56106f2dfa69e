import type { FileHandle } from 'node:fs/promises';
import { resolve } from 'node:path';
import { CorruptFileError, hasErrorCode } from '@markbase/core';
import { readExactly, withFile } from '../files/file-access.js';
import { allocateBytes } from '../files/read-json.js';
import { MAX_HEADER_BYTES } from '../limits.js';
import { foreignFormat } from './foreign-format.js';
import { PREFIX_BYTES, parseHeader } from './header.js';
import { TensorView } from './tensor-view.js';

/** An opened safetensors file: its header, checked. */
export interface SafetensorsFile {
  /** Absolute path. */
  readonly path: string;
  /** The free-form strings of `__metadata__`. */
  readonly metadata: Map<string, string>;
  /** Tensors by the names in the file. */
  readonly tensors: Map<string, TensorView>;
}

/**
 * Opens one safetensors file: the header is parsed and checked completely, no byte of a tensor is read.
 *
 * @throws FileAccessError when the file cannot be read; CorruptFileError, with `rule`, when it breaks the format
 */
export async function openSafetensors(path: string): Promise<SafetensorsFile> {
  const absolute = resolve(path);
  return withFile(absolute, async (file, identity) => {
    try {
      const headerBytes = await readHeaderLength(file, absolute, identity.sizeBytes);
      const bytes = allocateBytes(headerBytes, `the header of ${absolute}`);
      await readExactly(file, absolute, bytes, PREFIX_BYTES);
      const dataStart = PREFIX_BYTES + headerBytes;
      const header = parseHeader(bytes, identity.sizeBytes - dataStart, absolute);
      const tensors = new Map<string, TensorView>();
      for (const { name, dtype, shape, begin, end } of header.entries.values()) {
        const range = { path: absolute, offsetBytes: dataStart + begin, sizeBytes: end - begin };
        tensors.set(name, new TensorView(name, dtype, shape, range, identity));
      }
      return { path: absolute, metadata: header.metadata, tensors };
    } catch (error) {
      throw await explain(error, file, absolute, identity.sizeBytes);
    }
  });
}

async function readHeaderLength(file: FileHandle, path: string, fileBytes: number): Promise<number> {
  const fail = (rule: string, reason: string): never => {
    throw new CorruptFileError({ rule, path, reason });
  };
  if (fileBytes < PREFIX_BYTES) {
    fail('HeaderTooSmall', `the file has ${fileBytes} bytes, expected at least 8; download it again`);
  }
  const prefix = new Uint8Array(PREFIX_BYTES);
  await readExactly(file, path, prefix, 0);
  const length = new DataView(prefix.buffer).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES)) {
    fail('HeaderTooLarge', `the header is said to have ${length} bytes, the limit is ${MAX_HEADER_BYTES}`);
  }
  if (length === 0n) fail('InvalidHeader', 'the header is empty, expected at least "{}"');
  const headerBytes = Number(length);
  if (headerBytes > fileBytes - PREFIX_BYTES) {
    const missing = headerBytes - (fileBytes - PREFIX_BYTES);
    fail(
      'InvalidHeaderLength',
      `the header ends ${missing} bytes behind the end of the file; download it again`,
    );
  }
  return headerBytes;
}

/** Replaces a complaint about the header by a better one when the file is something else entirely. */
async function explain(error: unknown, file: FileHandle, path: string, fileBytes: number): Promise<unknown> {
  if (!hasErrorCode(error, 'CORRUPT_FILE')) return error;
  const start = new Uint8Array(Math.min(fileBytes, PREFIX_BYTES + 64));
  await readExactly(file, path, start, 0);
  const advice = foreignFormat(start) ?? foreignFormat(start.subarray(PREFIX_BYTES));
  if (advice === null) return error;
  return new CorruptFileError({ rule: 'NotSafetensors', path, reason: advice, cause: error });
}
