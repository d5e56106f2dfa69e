import { constants, type Stats } from 'node:fs';
import { type FileHandle, open, stat } from 'node:fs/promises';
import { CorruptFileError, FileAccessError, MarkBaseError } from '@markbase/core';

/** The longest span that one system call reads or writes; Node limits both to less than 2 GiB. */
const MAX_TRANSFER_BYTES = 1024 * 1024 * 1024;

/** Otherwise, opening a named pipe would wait for a writer forever. */
const OPEN_FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0);

/** Distinguishes two versions of a file without reading it. */
export interface FileIdentity {
  readonly sizeBytes: number;
  readonly modifiedMs: number;
  readonly inode: number;
}

/**
 * Opens a regular file for reading, runs `use`, and closes it again.
 *
 * Failures of the operating system become a `FileAccessError`.
 */
export async function withFile<T>(
  path: string,
  use: (file: FileHandle, identity: FileIdentity) => Promise<T>,
): Promise<T> {
  let file: FileHandle;
  try {
    file = await open(path, OPEN_FLAGS);
  } catch (cause) {
    throw accessError(path, 'open', cause);
  }
  try {
    return await use(file, identityOf(await file.stat(), path));
  } catch (cause) {
    throw accessError(path, 'read', cause);
  } finally {
    await file.close();
  }
}

/** Identifies this version of a regular file; anything other than a regular file is a `FileAccessError`. */
export function identityOf(status: Stats, path: string): FileIdentity {
  if (!status.isFile()) {
    throw new FileAccessError({ path, operation: 'read', reason: 'it is not a regular file' });
  }
  return { sizeBytes: status.size, modifiedMs: status.mtimeMs, inode: status.ino };
}

/** Fills `target` with the bytes at `offsetBytes`; fewer bytes in the file are a `CorruptFileError`. */
export async function readExactly(
  file: FileHandle,
  path: string,
  target: Uint8Array,
  offsetBytes: number,
): Promise<void> {
  let done = 0;
  while (done < target.length) {
    const length = Math.min(target.length - done, MAX_TRANSFER_BYTES);
    const { bytesRead } = await file.read(target, done, length, offsetBytes + done);
    if (bytesRead === 0) {
      throw new CorruptFileError({
        rule: 'UnexpectedEnd',
        path,
        reason: `the file is ${target.length - done} bytes too short; download it again`,
        offsetBytes: offsetBytes + done,
      });
    }
    done += bytesRead;
  }
}

/** Writes all of `bytes` at `offsetBytes`. */
export async function writeFully(file: FileHandle, bytes: Uint8Array, offsetBytes: number): Promise<void> {
  let done = 0;
  while (done < bytes.length) {
    const length = Math.min(bytes.length - done, MAX_TRANSFER_BYTES);
    const { bytesWritten } = await file.write(bytes, done, length, offsetBytes + done);
    done += bytesWritten;
  }
}

/** True when `path` is an existing regular file (links are followed). */
export async function isFile(path: string): Promise<boolean> {
  return (await statusOf(path))?.isFile() ?? false;
}

/** True when `path` is an existing folder (links are followed). */
export async function isFolder(path: string): Promise<boolean> {
  return (await statusOf(path))?.isDirectory() ?? false;
}

/** The status of `path`, or null when nothing is there. */
async function statusOf(path: string): Promise<Awaited<ReturnType<typeof stat>> | null> {
  try {
    return await stat(path);
  } catch (cause) {
    const code = codeOf(cause);
    if (code === 'ENOENT' || code === 'ENOTDIR') return null;
    throw accessError(path, 'look at', cause);
  }
}

/** Turns a failure of the operating system into a `FileAccessError`; every other error passes unchanged. */
export function accessError(path: string, operation: string, cause: unknown): unknown {
  if (MarkBaseError.isInstance(cause)) return cause;
  const code = codeOf(cause);
  if (code === null) return cause;
  return new FileAccessError({ path, operation, reason: REASONS[code] ?? code, cause });
}

const REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'it does not exist',
  ENOTDIR: 'a part of the path is not a folder',
  EEXIST: 'it already exists, and is not a folder',
  EISDIR: 'it is a folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  ENOSPC: 'the disk is full',
  EDQUOT: 'the disk quota is used up',
  EROFS: 'the file system is read-only',
  EFBIG: 'the file system does not allow a file this large',
  EMFILE: 'too many files are open',
  ELOOP: 'too many symbolic links',
};

/** The code of an error of the operating system, or null for any other error. */
function codeOf(cause: unknown): string | null {
  const isSystemError = cause instanceof Error && 'syscall' in cause && 'code' in cause;
  return isSystemError && typeof cause.code === 'string' ? cause.code : null;
}
