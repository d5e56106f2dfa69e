import { CorruptFileError } from '@markbase/core';
import { allocateBytes } from '../sources/allocate-bytes.js';
import { readExactly, withFile } from './file-access.js';

/** Reads a whole file as strict UTF-8 text; a file larger than `maxBytes` is refused before it is read. */
export function readText(path: string, maxBytes: number): Promise<string> {
  return withFile(path, async (file, { sizeBytes }) => {
    if (sizeBytes > maxBytes) {
      throw new CorruptFileError({
        rule: 'FileTooLarge',
        path,
        reason: `it has ${sizeBytes} bytes, expected at most ${maxBytes}`,
      });
    }
    const bytes = allocateBytes(sizeBytes, path);
    await readExactly(file, path, bytes, 0);
    try {
      return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    } catch (cause) {
      throw new CorruptFileError({ rule: 'InvalidUtf8', path, reason: 'it is not UTF-8 text', cause });
    }
  });
}

/** Reads and parses a JSON file of at most `maxBytes`. Errors: `FileAccessError`, `CorruptFileError`. */
export async function readJson(path: string, maxBytes: number): Promise<unknown> {
  const text = await readText(path, maxBytes);
  try {
    return parseJson(text);
  } catch (cause) {
    const isPointer = text.startsWith('version https://git-lfs');
    const reason = isPointer
      ? 'it is a Git LFS pointer, not the file itself: run `git lfs pull`'
      : `it is not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CorruptFileError({ rule: isPointer ? 'NotDownloaded' : 'InvalidJson', path, reason, cause });
  }
}

/** A string, or a number that Python's json module writes and JSON does not know. */
const PYTHON_NUMBERS = /"(?:[^"\\]|\\.)*"|-?\b(?:Infinity|NaN)\b/g;

/**
 * Parses JSON, and `Infinity`, `-Infinity` and `NaN` as Python's json module writes them.
 *
 * @throws SyntaxError
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    let mark = '#';
    while (text.includes(mark)) mark += '#';
    const standard = text.replace(PYTHON_NUMBERS, (token) =>
      token.startsWith('"') ? token : `"${mark}${token}"`,
    );
    if (standard === text) throw error;
    return JSON.parse(standard, (_, value: unknown) =>
      typeof value === 'string' && value.startsWith(mark) ? Number(value.slice(mark.length)) : value,
    );
  }
}
