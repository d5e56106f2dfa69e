import { MarkBaseError } from '@markbase/core';
import { type Command, CommanderError } from 'commander';
import { withOptionHint, withOptionNames } from './option-names.js';

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
  EEXIST: 'it already exists, and is not a folder',
  EMFILE: 'too many open files',
};

/**
 * Reports on standard error why a command failed.
 *
 * A user error is a single message without a stack trace; an unexpected error also asks for a bug report.
 * `MARKBASE_DEBUG=1` adds the stack trace.
 *
 * @param command the one that failed, whose options the message names; null before any has started
 * @returns the exit status
 */
export function reportError(error: unknown, command: Command | null = null): number {
  // commander has already printed its own message or the requested help.
  if (error instanceof CommanderError) return error.exitCode;
  if (isAbort(error)) {
    process.stderr.write('interrupted\n');
    return EXIT_INTERRUPTED;
  }
  process.stderr.write(`error: ${messageOf(error, command)}\n`);
  if (process.env.MARKBASE_DEBUG === '1' && error instanceof Error) {
    process.stderr.write(`${error.stack}\n`);
  }
  return EXIT_FAILED;
}

function messageOf(error: unknown, command: Command | null): string {
  const named = command === null ? error : withOptionNames(error, command);
  const reason = reasonForUser(named);
  if (reason === null) return unexpectedMessage(error);
  return command === null ? reason : withOptionHint(reason, error, command);
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

/** Why a system call failed, in plain words. */
export function systemReason(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return SYSTEM_REASONS[code ?? ''] ?? code ?? message ?? String(error);
}

function systemMessage(error: NodeJS.ErrnoException): string {
  const reason = systemReason(error);
  return `cannot ${error.syscall ?? 'access'} ${error.path ?? 'a file'}: ${reason}`;
}
