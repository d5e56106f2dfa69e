import { readSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { CorruptFileError, FileAccessError, MarkBaseError } from '@markbase/core';
import { EventLoopSlice } from './event-loop-slice.js';
import type { ByteSource } from './json-scanner.js';
import { Tokenizer } from './tokenizer.js';
import { parseTokenizerFile } from './tokenizer-file.js';

/** Largest tokenizer.json that is accepted; Gemma's has about 33 MB. */
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/**
 * Loads a tokenizer.json of the Gemma family. The work is cut into slices of about 10 ms, so that it can run
 * beside the loading of weights without blocking the event loop.
 *
 * Errors: FileAccessError when it cannot be read; CorruptFileError when it is not valid;
 * UnsupportedTokenizerError when it describes another kind of tokenizer; the reason of `signal`.
 *
 * @param path of the file
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
      throw new CorruptFileError({ rule: 'FileTooLarge', path, reason: `${size} bytes are too many` });
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

/** Reads synchronously: a piece of 256 KiB takes less time than a turn of the event loop to wait for it. */
function sourceOf(file: FileHandle, sizeBytes: number): ByteSource {
  return {
    sizeBytes,
    read: (target, offset) => readSync(file.fd, target, 0, target.length, offset),
  };
}
