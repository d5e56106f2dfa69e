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
    return JSON.parse(text);
  } catch (cause) {
    const isPointer = text.startsWith('version https://git-lfs');
    const reason = isPointer
      ? 'it is a Git LFS pointer, not the file itself: run `git lfs pull`'
      : `it is not valid JSON: ${cause instanceof Error ? cause.message : String(cause)}`;
    throw new CorruptFileError({ rule: isPointer ? 'NotDownloaded' : 'InvalidJson', path, reason, cause });
  }
}
