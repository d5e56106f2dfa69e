import { createHash, type Hash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, rename, stat, unlink } from 'node:fs/promises';
import { accessError, writeFully } from '../files/file-access.js';
import { DownloadError } from './download-error.js';
import type { HttpAnswer, HttpClient } from './http-client.js';
import type { RepositoryFile } from './repository-info.js';

/** Called with the number of bytes just received; negative when received bytes are discarded. */
export type OnBytes = (bytes: number) => void;

/**
 * Downloads a file to `target`, continuing where an earlier attempt stopped.
 *
 * The bytes are collected in `partial`; the file gets its name only once its size and hash are right. A server
 * that ignores the requested range sends the file from its start, which is accepted.
 *
 * @throws DownloadError, FileAccessError; the signal's reason. The incomplete file stays, unless its hash was wrong.
 */
export async function downloadBlob(
  client: HttpClient,
  url: string,
  file: RepositoryFile,
  { target, partial }: { readonly target: string; readonly partial: string },
  onBytes: OnBytes,
): Promise<void> {
  let restarts = 0;
  for (;;) {
    let known = await sizeOf(partial);
    onBytes(known);
    const before = { bytes: known };
    await client.retry(
      async () => {
        known = await receive(client, url, file, partial, known, (bytes) => {
          known += bytes;
          onBytes(bytes);
        });
      },
      () => {
        const moved = known > before.bytes;
        before.bytes = known;
        return moved;
      },
    );
    if ((await hashOf(partial, file)) === file.blobId) break;
    await unlink(partial);
    onBytes(-known);
    // A wrong start may come from an earlier attempt; a second wrong file comes from the server.
    if (restarts++ > 0) {
      const reason = `its ${file.hash} is not ${file.blobId}, which the hub lists; the copy was removed, try again`;
      throw new DownloadError({ rule: 'HashMismatch', url, reason });
    }
  }
  await rename(partial, target).catch((cause: unknown) => {
    throw accessError(target, 'write', cause);
  });
}

/** One request: everything from `begin` to the end of the file. @returns the size of the partial file, complete */
async function receive(
  client: HttpClient,
  url: string,
  file: RepositoryFile,
  partial: string,
  begin: number,
  onBytes: OnBytes,
): Promise<number> {
  const { sizeBytes } = file;
  let handle: FileHandle;
  try {
    handle = await open(partial, begin === 0 ? 'w' : 'r+');
  } catch (cause) {
    throw accessError(partial, 'write', cause);
  }
  try {
    if (begin === sizeBytes) return sizeBytes;
    let position = begin;
    if (begin > sizeBytes) position = await startAgain(handle, begin, onBytes);
    const headers: Record<string, string> = position > 0 ? { range: `bytes=${position}-` } : {};
    const answer = await client.get(url, headers);
    try {
      // 416: the server's file is shorter than what we have. 200: it ignored the range.
      if (answer.status === 416) {
        await startAgain(handle, position, onBytes);
        throw new DownloadError({
          rule: 'Network',
          url,
          reason: 'the server cannot satisfy the range',
          status: 416,
        });
      }
      if (answer.status === 200 && position > 0) position = await startAgain(handle, position, onBytes);
      checkAnswer(answer, position, sizeBytes);
      for await (const chunk of answer.chunks()) {
        if (position + chunk.length > sizeBytes) tooLong(url, sizeBytes);
        await writeFully(handle, chunk, position);
        position += chunk.length;
        onBytes(chunk.length);
      }
    } finally {
      await answer.cancel();
    }
    if (position < sizeBytes) {
      const reason = `the connection broke after ${position} of ${sizeBytes} bytes`;
      throw new DownloadError({ rule: 'Network', url, reason });
    }
    await handle.sync();
    return position;
  } catch (cause) {
    throw accessError(partial, 'write', cause);
  } finally {
    await handle.close();
  }
}

async function startAgain(handle: FileHandle, received: number, onBytes: OnBytes): Promise<number> {
  await handle.truncate(0);
  onBytes(-received);
  return 0;
}

/** Requires that the answer is the requested part of this file, in plain bytes. */
function checkAnswer(answer: HttpAnswer, begin: number, sizeBytes: number): void {
  const { url, status, headers } = answer;
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    // Ranges of a compressed stream are ranges of other bytes.
    const reason = `the server compresses the file (${encoding}) although plain bytes were requested`;
    throw new DownloadError({ rule: 'RangeNotHonoured', url, status, reason });
  }
  if (status === 206) {
    const range = /^bytes (\d+)-(\d+)\/(\d+|\*)$/.exec(headers.get('content-range') ?? '');
    const isAsked = range !== null && Number(range[1]) === begin && Number(range[2]) === sizeBytes - 1;
    if (!isAsked || (range[3] !== '*' && Number(range[3]) !== sizeBytes)) {
      const reason = `asked for bytes ${begin}-${sizeBytes - 1}/${sizeBytes}, received ${headers.get('content-range')}`;
      throw new DownloadError({ rule: 'RangeNotHonoured', url, status, reason });
    }
  }
  const length = headers.get('content-length');
  if (length !== null && Number(length) !== sizeBytes - begin) {
    const reason = `the hub lists ${sizeBytes} bytes, but the server has ${Number(length) + begin}`;
    throw new DownloadError({ rule: 'SizeMismatch', url, status, reason });
  }
}

function tooLong(url: string, sizeBytes: number): never {
  throw new DownloadError({
    rule: 'SizeMismatch',
    url,
    reason: `the hub lists ${sizeBytes} bytes, but the server sends more`,
  });
}

async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch {
    return 0;
  }
}

/** The hash by which the hub names a file. */
async function hashOf(path: string, { hash, sizeBytes }: RepositoryFile): Promise<string> {
  const sum: Hash = createHash(hash === 'sha256' ? 'sha256' : 'sha1');
  if (hash === 'git-sha1') sum.update(`blob ${sizeBytes}\0`);
  try {
    for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) sum.update(chunk);
  } catch (cause) {
    throw accessError(path, 'read', cause);
  }
  return sum.digest('hex');
}
