import { type FileHandle, open } from 'node:fs/promises';
import { CorruptFileError, FileAccessError } from '@markbase/core';
import { EventLoopSlice } from './event-loop-slice.js';
import { Tokenizer } from './tokenizer.js';
import { parseTokenizerFile } from './tokenizer-file.js';

/** Largest tokenizer.json that is accepted; Gemma's has about 33 MB. */
const MAX_FILE_BYTES = 512 * 1024 * 1024;

/** Bytes that are read at a time. */
const READ_BYTES = 4 * 1024 * 1024;

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
  const bytes = await readBytes(path, options.signal);
  const slice = new EventLoopSlice(options.signal);
  const file = await parseTokenizerFile(bytes, path, slice);
  await slice.pause();
  const tokenizer = new Tokenizer(file);
  file.vocabulary.trim();
  return tokenizer;
}

async function readBytes(path: string, signal: AbortSignal | undefined): Promise<Uint8Array> {
  let file: FileHandle | null = null;
  try {
    file = await open(path);
    const { size } = await file.stat();
    if (size > MAX_FILE_BYTES) {
      throw new CorruptFileError({ rule: 'FileTooLarge', path, reason: `${size} bytes are too many` });
    }
    // Not `readFile`: it collects chunks and joins them, which takes the memory twice.
    const bytes = new Uint8Array(size);
    for (let offset = 0; offset < size; ) {
      signal?.throwIfAborted();
      const { bytesRead } = await file.read(bytes, offset, Math.min(READ_BYTES, size - offset), offset);
      if (bytesRead === 0) return bytes.subarray(0, offset);
      offset += bytesRead;
    }
    return bytes;
  } catch (cause) {
    if (CorruptFileError.isInstance(cause) || signal?.aborted) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new FileAccessError({ path, operation: 'read', reason, cause });
  } finally {
    await file?.close();
  }
}
