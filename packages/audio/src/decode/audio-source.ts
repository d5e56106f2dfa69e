import { open, stat } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { FileAccessError, InvalidArgumentError } from '@markbase/core';

/** Samples in memory. */
export interface PcmAudio {
  /** One array for mono, or one per channel; in [-1, 1]. */
  readonly samples: Float32Array | readonly Float32Array[];
  /** In Hz. */
  readonly sampleRate: number;
}

/** Where the bytes of a sound file come from. A stream of Node, the body of a response and the like are iterables. */
export type AudioBytes = string | URL | Uint8Array | ArrayBuffer | Blob | AsyncIterable<Uint8Array>;

/** A sound: a file by path or `file:` URL, its bytes, or samples. */
export type AudioSource = AudioBytes | PcmAudio;

const CHUNK_BYTES = 65_536;

/** True for samples in memory. */
export function isPcmAudio(source: AudioSource): source is PcmAudio {
  return typeof source === 'object' && source !== null && 'samples' in source && 'sampleRate' in source;
}

/** The name of a source in messages. */
export function sourceName(source: AudioSource): string {
  if (typeof source === 'string') return source;
  if (source instanceof URL) return source.href;
  return isPcmAudio(source) ? '(samples)' : '(audio)';
}

/** Size of a source in bytes; null if it is not known in advance. */
export async function sourceSize(source: AudioBytes): Promise<number | null> {
  if (source instanceof Uint8Array || source instanceof ArrayBuffer) return source.byteLength;
  if (source instanceof Blob) return source.size;
  if (typeof source !== 'string' && !(source instanceof URL)) return null;
  // Problems with a file are reported when it is read; a pipe has no size.
  const status = await stat(source).catch(() => null);
  return status?.isFile() ? status.size : null;
}

/** The last bytes of a source, at most 64 KiB; null if they can only be read once, in order. */
export async function sourceTail(source: AudioBytes): Promise<Uint8Array | null> {
  if (source instanceof Uint8Array) return source.subarray(-CHUNK_BYTES);
  if (source instanceof ArrayBuffer) return new Uint8Array(source).subarray(-CHUNK_BYTES);
  if (source instanceof Blob) return new Uint8Array(await source.slice(-CHUNK_BYTES).arrayBuffer());
  if (typeof source !== 'string' && !(source instanceof URL)) return null;
  // Problems with a file are reported when it is read in order.
  const file = await open(source, 'r').catch(() => null);
  if (file === null) return null;
  try {
    const { size } = await file.stat();
    const target = new Uint8Array(Math.min(size, CHUNK_BYTES));
    const { bytesRead } = await file.read(target, 0, target.length, size - target.length);
    return target.subarray(0, bytesRead);
  } catch {
    return null;
  } finally {
    await file.close();
  }
}

/** True for a source whose bytes can be read again. */
export function isRepeatable(source: AudioSource): boolean {
  const isObject = typeof source === 'object' && source !== null;
  return !isObject || source instanceof Blob || !(Symbol.asyncIterator in source);
}

/**
 * The bytes of a source, in pieces.
 *
 * @throws FileAccessError when a file cannot be read; InvalidArgumentError for any other kind of source
 */
export async function* readBytes(source: AudioBytes): AsyncGenerator<Uint8Array> {
  if (typeof source === 'string') yield* readFile(source);
  else if (source instanceof URL && source.protocol === 'file:') yield* readFile(fileURLToPath(source));
  else if (source instanceof Uint8Array) yield* slices(source);
  else if (source instanceof ArrayBuffer) yield* slices(new Uint8Array(source));
  else if (source instanceof Blob) yield* checkedBytes(source.stream());
  else if (typeof source === 'object' && source !== null && Symbol.asyncIterator in source) {
    yield* checkedBytes(source as AsyncIterable<Uint8Array>);
  } else {
    throw new InvalidArgumentError({
      argument: 'source',
      expected: 'a path, a file: URL, bytes, a Blob, an iterable of bytes, or { samples, sampleRate }',
      received: source instanceof URL ? source.href : source,
    });
  }
}

function* slices(bytes: Uint8Array): Generator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += CHUNK_BYTES) yield bytes.subarray(at, at + CHUNK_BYTES);
}

async function* checkedBytes(pieces: AsyncIterable<unknown>): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    if (!(piece instanceof Uint8Array)) {
      throw new InvalidArgumentError({ argument: 'source', expected: 'pieces of bytes', received: piece });
    }
    yield* slices(piece);
  }
}

async function* readFile(path: string): AsyncGenerator<Uint8Array> {
  const fail = (operation: string, cause: unknown): never => {
    const isAbsent = (cause as NodeJS.ErrnoException).code === 'ENOENT';
    const message = cause instanceof Error ? cause.message : String(cause);
    const reason = isAbsent ? 'it does not exist' : message;
    throw new FileAccessError({ path, operation, reason, cause });
  };
  const file = await open(path, 'r').catch((cause: unknown) => fail('open', cause));
  try {
    if ((await file.stat()).isDirectory()) {
      throw new FileAccessError({ path, operation: 'read', reason: 'it is a folder, not a sound file' });
    }
    for (;;) {
      const target = new Uint8Array(CHUNK_BYTES);
      const { bytesRead } = await file
        .read(target, 0, CHUNK_BYTES)
        .catch((cause: unknown) => fail('read', cause));
      if (bytesRead === 0) return;
      yield target.subarray(0, bytesRead);
    }
  } finally {
    await file.close();
  }
}
