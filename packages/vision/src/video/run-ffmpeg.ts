import { type ChildProcess, spawn } from 'node:child_process';
import { CorruptFileError, FileAccessError } from '@markbase/core';

/** A program to run, and for which video. */
export interface FfmpegRun {
  /** Name on the PATH, or path of the program. */
  readonly command: string;
  readonly args: readonly string[];
  /** The video, which errors name. */
  readonly subject: string;
  readonly signal?: AbortSignal;
}

/** Bytes of the end of its messages that are kept. */
const KEPT_MESSAGES = 2000;

/**
 * Runs ffmpeg and yields its output in chunks, as fast as they are consumed. Leaving the loop ends the program.
 *
 * @throws FileAccessError when the program does not exist, CorruptFileError with its last message when it fails, or the
 *   reason of the signal
 */
export async function* runFfmpeg({
  command,
  args,
  subject,
  signal,
}: FfmpegRun): AsyncGenerator<Uint8Array, void> {
  signal?.throwIfAborted();
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], windowsHide: true });
  const end = endOf(child);
  const messages = lastMessages(child);
  const abort = () => child.kill('SIGKILL');
  signal?.addEventListener('abort', abort, { once: true });
  try {
    yield* child.stdout!;
    const { error, code } = await end;
    signal?.throwIfAborted();
    if (error !== null) throw missing(command, error);
    if (code !== 0) throw failed(subject, messages(), code);
  } finally {
    signal?.removeEventListener('abort', abort);
    abort();
    await end;
  }
}

/** Never rejects: a program that cannot start results in an error instead of a code. */
function endOf(child: ChildProcess): Promise<{ error: Error | null; code: number | null }> {
  return new Promise((resolve) => {
    child.once('error', (error) => resolve({ error, code: null }));
    child.once('close', (code) => resolve({ error: null, code }));
  });
}

function lastMessages(child: ChildProcess): () => string {
  let kept = '';
  child.stderr!.setEncoding('utf8').on('data', (text: string) => {
    kept = (kept + text).slice(-KEPT_MESSAGES);
  });
  return () => kept.trim();
}

function missing(command: string, error: Error): FileAccessError {
  const isAbsent = (error as NodeJS.ErrnoException).code === 'ENOENT';
  return new FileAccessError({
    path: command,
    operation: 'run',
    reason: isAbsent
      ? 'it is not installed. Videos other than GIF, WebP and folders of pictures are decoded by ffmpeg: install it, or make such a folder'
      : error.message,
    cause: error,
  });
}

function failed(path: string, messages: string, code: number | null): CorruptFileError {
  const last = messages.split('\n').at(-1) || `exit code ${code}`;
  return new CorruptFileError({
    rule: 'UndecodableVideo',
    path,
    reason: `ffmpeg cannot decode it: ${last}`,
  });
}
