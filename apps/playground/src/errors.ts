import { MarkBaseError } from '@markbase/core';
import { CommanderError } from 'commander';

/** Exit status after Ctrl-C: 128 + SIGINT. */
export const EXIT_INTERRUPTED = 130;

const EXIT_FAILED = 1;

/** The operating system's error codes in plain words. */
const SYSTEM_REASONS: Readonly<Record<string, string>> = {
  ENOENT: 'no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'operation not permitted',
  EROFS: 'the file system is read-only',
  ENOSPC: 'no space left on the device',
  EDQUOT: 'the disk quota is exceeded',
  EISDIR: 'it is a folder, not a file',
  ENOTDIR: 'part of the path is not a folder',
  EEXIST: 'it already exists',
  EMFILE: 'too many open files',
};

/**
 * Reports on standard error why a command failed.
 *
 * A user error is a single message without a stack trace; an unexpected error also asks for a bug report.
 * `MARKBASE_DEBUG=1` adds the stack trace.
 *
 * @returns the exit status
 */
export function reportError(error: unknown): number {
  // commander has already printed its own message or the requested help.
  if (error instanceof CommanderError) return error.exitCode;
  if (isAbort(error)) {
    process.stderr.write('interrupted\n');
    return EXIT_INTERRUPTED;
  }
  process.stderr.write(`error: ${reasonForUser(error) ?? unexpectedMessage(error)}\n`);
  if (process.env.MARKBASE_DEBUG === '1' && error instanceof Error) {
    process.stderr.write(`${error.stack}\n`);
  }
  return EXIT_FAILED;
}

/** True for the platform's AbortError. */
export function isAbort(error: unknown): boolean {
  return error instanceof Error && error.name === 'AbortError';
}

/** The message of an error that the user can fix; null for a bug in the program. */
export function reasonForUser(error: unknown): string | null {
  if (MarkBaseError.isInstance(error)) return error.message;
  return isSystemError(error) ? systemMessage(error) : null;
}

function unexpectedMessage(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return `${text}\nThis is a bug in markbase: please report it with the output of the same command with MARKBASE_DEBUG=1.`;
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException {
  return error instanceof Error && 'syscall' in error && 'code' in error;
}

function systemMessage(error: NodeJS.ErrnoException): string {
  const reason = SYSTEM_REASONS[error.code ?? ''] ?? error.code ?? error.message;
  return `cannot ${error.syscall ?? 'access'} ${error.path ?? 'a file'}: ${reason}`;
}
