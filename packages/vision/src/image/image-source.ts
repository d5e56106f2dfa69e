import { readFile, stat } from 'node:fs/promises';
import { CorruptFileError, FileAccessError, InvalidArgumentError, MarkBaseError } from '@markbase/core';
import { checkLimit, type ImageLimits } from './image-limits.js';
import type { RawPixels } from './raw-pixels.js';

/** A picture: the path of a file, the bytes of a file, or pixels. */
export type ImageInput = string | Uint8Array | RawPixels;

/** Bytes of an encoded picture and their name in errors. */
export interface EncodedImage {
  readonly subject: string;
  readonly bytes: Uint8Array;
}

const BYTES_SUBJECT = 'image bytes';

/**
 * Bytes of a file or of the caller, within the limit.
 *
 * @throws FileAccessError, LimitExceededError, CorruptFileError for an empty file, or InvalidArgumentError for a URL
 */
export async function readEncodedImage(
  input: string | Uint8Array,
  limits: ImageLimits,
): Promise<EncodedImage> {
  const [subject, bytes] =
    typeof input === 'string'
      ? [input, await readFileWithin(input, limits)]
      : [BYTES_SUBJECT, requireBytes(input)];
  checkLimit(subject, 'maxFileBytes', bytes.length, limits);
  if (bytes.length === 0) {
    throw new CorruptFileError({ rule: 'EmptyImage', path: subject, reason: 'it is empty' });
  }
  return { subject, bytes };
}

/**
 * Requires the path of something on this machine.
 *
 * @throws InvalidArgumentError for a URL
 */
export function requirePath(input: string): void {
  if (!/^(?:[a-z][a-z\d+.-]+:\/\/|data:)/i.test(input)) return;
  throw new InvalidArgumentError({
    argument: 'input',
    expected: 'a path',
    received: input.slice(0, 40),
    hint: 'URLs are not downloaded: fetch it and pass the bytes',
  });
}

/** What a failed system call means. */
export function accessError(path: string, error: unknown): FileAccessError {
  const code = (error as NodeJS.ErrnoException).code;
  const reason = code === 'ENOENT' ? 'it does not exist' : String((error as Error).message);
  return new FileAccessError({ path, operation: 'read', reason, cause: error });
}

async function readFileWithin(path: string, limits: ImageLimits): Promise<Uint8Array> {
  requirePath(path);
  try {
    // Opening a pipe would wait for whoever writes to it.
    const status = await stat(path);
    if (!status.isFile()) {
      throw new FileAccessError({ path, operation: 'read', reason: 'it is not a regular file' });
    }
    checkLimit(path, 'maxFileBytes', status.size, limits);
    return await readFile(path);
  } catch (error) {
    throw MarkBaseError.isInstance(error) ? error : accessError(path, error);
  }
}

/** True for bytes of any realm, where `instanceof` fails. */
function requireBytes(input: Uint8Array): Uint8Array {
  if (ArrayBuffer.isView(input)) return new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
  throw new InvalidArgumentError({
    argument: 'input',
    expected: 'a path, the bytes of a file, or pixels: { data, width, height }',
    received: input,
  });
}
