import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CorruptFileError, FileAccessError, MarkBaseError } from '@markbase/core';
import { EventLoopSlice } from './event-loop-slice.js';
import type { ByteSource } from './json-scanner.js';
import { Tokenizer } from './tokenizer.js';
import { parseTokenizerFile } from './tokenizer-file.js';

/** Maximum size of tokenizer.json; Gemma's has about 33 MB. */
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/**
 * Loads a tokenizer.json of the Gemma family. The work is divided into slices of about 10 ms, so that it can run while
 * weights are loading without blocking the event loop.
 *
 * Errors: FileAccessError if the file cannot be read; CorruptFileError if it is invalid; UnsupportedTokenizerError if
 * it describes another kind of tokenizer; the reason of `signal`.
 *
 * @param path path of the file
 */
export async function loadTokenizer(
  path: string,
  options: { signal?: AbortSignal } = {},
): Promise<Tokenizer> {
  const slice = new EventLoopSlice(options.signal);
  let file: FileHandle | null = null;
  try {
    options.signal?.throwIfAborted();
    file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) {
      throw new CorruptFileError({
        rule: 'FileTooLarge',
        path,
        reason: `it has ${size} bytes, more than the maximum of ${MAX_FILE_BYTES}`,
      });
    }
    const parsed = await parseTokenizerFile(sourceOf(file, size), path, slice);
    await slice.pause();
    const tokenizer = new Tokenizer(parsed);
    parsed.vocabulary.trim();
    return tokenizer;
  } catch (cause) {
    if (MarkBaseError.isInstance(cause) || options.signal?.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FileAccessError({ path, operation: 'read', reason, cause });
  } finally {
    await file?.close();
  }
}

/** Reads synchronously: reading 256 KiB takes less time than waiting for the event loop. */
function sourceOf(file: FileHandle, sizeBytes: number): ByteSource {
  return {
    sizeBytes,
    read: (target, offset) => readSync(file.fd, target, 0, target.length, offset),
  };
}
