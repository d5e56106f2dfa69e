import { type ChildProcess, spawn } from 'node:child_process';
import { FileAccessError } from '@markbase/core';

/** A program to run. */
export interface FfmpegRun {
  /** Name on the PATH, or path of the program. */
  readonly command: string;
  readonly args: readonly string[];
  readonly signal?: AbortSignal;
  /** The error for a run that failed, or null if it does not matter. `messages`: what the program printed about errors, at most 2,000 characters. */
  readonly check: (messages: string, exitCode: number | null) => Error | null;
}

/** Bytes of the end of its messages that are kept. */
const KEPT_MESSAGES = 2000;

/** How ffmpeg opens a file: quietly, and nothing but this file. */
export interface FfmpegInput {
  readonly path: string;
  /** Names of the containers that it may read. Playlists and scripts, which name further files, do not belong to them. */
  readonly containers: readonly string[];
  /** Names of the decoders that it may use; default: all. */
  readonly decoders?: readonly string[];
}

/** The arguments that open a file, without access to anything else. @param input its path must be absolute */
export function ffmpegInput({ path, containers, decoders }: FfmpegInput): string[] {
  return [
    '-nostdin',
    '-hide_banner',
    '-loglevel',
    'error',
    '-protocol_whitelist',
    'file',
    '-format_whitelist',
    containers.join(','),
    ...(decoders ? ['-codec_whitelist', decoders.join(',')] : []),
    '-i',
    // The prefix keeps ffmpeg from reading a name as an option, an address or a pattern.
    `file:${path}`,
  ];
}

/**
 * Runs ffmpeg and yields its output in chunks, as fast as they are consumed. Leaving the loop ends the program.
 *
 * @throws FileAccessError when the program does not exist, the error of `check`, or the reason of the signal
 */
export async function* runFfmpeg({
  command,
  args,
  signal,
  check,
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
    const failure = check(messages(), code);
    if (failure !== null) throw failure;
  } finally {
    signal?.removeEventListener('abort', abort);
    abort();
    await end;
  }
}

/**
 * What ffmpeg says about a file that ends too early, though it decodes what is there; null if it says nothing of the kind.
 *
 * MP4, Matroska and MPEG transport streams have their own words for it.
 */
export function truncationMessage(messages: string): string | null {
  const line = messages.split('\n').find((text) => TRUNCATED.test(text));
  return line === undefined ? null : withoutPrefix(line);
}

const TRUNCATED = /partial file|ended prematurely|truncat|Packet corrupt|moov atom not found|unexpected EOF/i;

/** The last line that ffmpeg printed, without the part of the program and the address that precede it. */
export function lastMessage(messages: string): string {
  return withoutPrefix(messages.split('\n').at(-1) ?? '');
}

function withoutPrefix(line: string): string {
  return line.replace(/^(?:\[[^\]]*\]\s*)+/, '').replace(/^file:.*?: (?=\S)/, '');
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
  const reason = isAbsent ? 'it is not installed' : error.message;
  return new FileAccessError({ path: command, operation: 'run', reason, cause: error });
}
