import { fileURLToPath } from 'node:url';
import { FileAccessError, InvalidArgumentError, LimitExceededError } from '@markbase/core';

/** A picture, a sound or a video: the path of a file, a `file:`, `data:`, `http:` or `https:` URL, or the bytes of a file. */
export type MediaSource = string | URL | Uint8Array;

/** The largest file that is downloaded. */
const MAX_DOWNLOAD_BYTES = 256 * 1024 * 1024;

/**
 * What the encoders take: a path, or bytes. Downloads what an http(s) URL names.
 *
 * The address is used as it is, whatever network it leads to: pass only URLs that you trust.
 *
 * @throws InvalidArgumentError for another scheme; FileAccessError if the download fails; LimitExceededError for more
 *   than 256 MiB; the signal's reason when aborted
 */
export async function mediaInput(source: MediaSource, signal?: AbortSignal): Promise<string | Uint8Array> {
  if (ArrayBuffer.isView(source)) return source;
  if (typeof source === 'string' && !/^(?:[a-z][a-z\d+.-]+:\/\/|data:|file:)/i.test(source)) return source;
  if (typeof source !== 'string' && !(source instanceof URL)) throw unknownSource(source);
  const url = new URL(source);
  if (url.protocol === 'file:') return fileURLToPath(url);
  if (!['data:', 'http:', 'https:'].includes(url.protocol)) throw unknownSource(url.href.slice(0, 80));
  return download(url, signal);
}

async function download(url: URL, signal: AbortSignal | undefined): Promise<Uint8Array> {
  const path = url.protocol === 'data:' ? 'data: URL' : `${url.origin}${url.pathname}`;
  const fail = (reason: string, cause?: unknown) =>
    new FileAccessError({ path, operation: 'download', reason, cause });
  let response: Response;
  try {
    response = await fetch(url, { ...(signal && { signal }) });
  } catch (cause) {
    signal?.throwIfAborted();
    throw fail(reasonOf(cause), cause);
  }
  if (!response.ok || !response.body) throw fail(`the server answered with status ${response.status}`);
  const chunks: Uint8Array[] = [];
  let received = 0;
  try {
    for await (const chunk of response.body) {
      received += chunk.length;
      if (received > MAX_DOWNLOAD_BYTES) break;
      chunks.push(chunk);
    }
  } catch (cause) {
    signal?.throwIfAborted();
    throw fail(`the connection failed after ${received} bytes: ${reasonOf(cause)}`, cause);
  }
  if (received <= MAX_DOWNLOAD_BYTES) return Buffer.concat(chunks);
  throw new LimitExceededError({
    subject: path,
    limit: 'the largest download',
    maximum: MAX_DOWNLOAD_BYTES,
    received,
  });
}

/** `fetch` says what happened in the cause of its error. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  return cause instanceof Error && cause.message !== '' ? cause.message : String(cause);
}

function unknownSource(received: unknown): InvalidArgumentError {
  return new InvalidArgumentError({
    argument: 'source',
    expected: 'a path, a file:, data:, http: or https: URL, or the bytes of a file',
    received,
  });
}
