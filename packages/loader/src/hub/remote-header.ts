import { CorruptFileError } from '@markbase/core';
import { MAX_HEADER_BYTES } from '../limits.js';
import { type HeaderEntry, PREFIX_BYTES, parseHeader } from '../safetensors/header.js';
import { DownloadError } from './download-error.js';
import type { HttpClient } from './http-client.js';

/** Bytes of the first request: enough for the headers of most files. */
const FIRST_REQUEST_BYTES = 128 * 1024;

/** Reads and checks the header of a safetensors file over HTTP, with one or two requests and no tensor. */
export async function remoteHeader(
  client: HttpClient,
  url: string,
  fileBytes: number,
): Promise<{ readonly entries: ReadonlyMap<string, HeaderEntry>; readonly dataStart: number }> {
  const fail = (rule: string, reason: string): never => {
    throw new CorruptFileError({ rule, path: url, reason });
  };
  if (fileBytes < PREFIX_BYTES)
    fail('HeaderTooSmall', `the file has ${fileBytes} bytes, expected at least 8`);
  const first = await readSpan(client, url, 0, Math.min(FIRST_REQUEST_BYTES, fileBytes), fileBytes);
  const length = new DataView(first.buffer, first.byteOffset).getBigUint64(0, true);
  if (length > BigInt(MAX_HEADER_BYTES)) {
    fail('HeaderTooLarge', `the header claims to have ${length} bytes, but the limit is ${MAX_HEADER_BYTES}`);
  }
  if (length === 0n) fail('InvalidHeader', 'the header is empty, expected at least "{}"');
  const dataStart = PREFIX_BYTES + Number(length);
  if (dataStart > fileBytes) {
    fail('InvalidHeaderLength', `the header ends ${dataStart - fileBytes} bytes after the end of the file`);
  }
  const header = new Uint8Array(Number(length));
  header.set(first.subarray(PREFIX_BYTES, dataStart));
  if (first.length < dataStart) {
    header.set(await readSpan(client, url, first.length, dataStart, fileBytes), first.length - PREFIX_BYTES);
  }
  return { entries: parseHeader(header, fileBytes - dataStart, url).entries, dataStart };
}

/** Bytes `begin` to `end` (exclusive) of a file of `fileBytes`; nothing else is accepted. */
function readSpan(
  client: HttpClient,
  url: string,
  begin: number,
  end: number,
  fileBytes: number,
): Promise<Uint8Array> {
  return client.retry(async () => {
    const answer = await client.get(url, { range: `bytes=${begin}-${end - 1}` });
    const { status, headers } = answer;
    const refuse = (reason: string): never => {
      throw new DownloadError({ rule: 'RangeNotHonoured', url, status, reason });
    };
    try {
      const encoding = headers.get('content-encoding') ?? 'identity';
      if (encoding !== 'identity') refuse(`the server compresses the file (${encoding})`);
      if (status === 206) {
        const range = headers.get('content-range');
        const isAsked =
          range === `bytes ${begin}-${end - 1}/${fileBytes}` || range === `bytes ${begin}-${end - 1}/*`;
        if (!isAsked) refuse(`asked for bytes ${begin}-${end - 1}/${fileBytes}, received ${range}`);
      } else if (status !== 200 || begin > 0) {
        // A whole file begins with the first part, but reaching a later part would mean downloading it.
        refuse('the server ignores ranges');
      }
      const span = new Uint8Array(end - begin);
      let filled = 0;
      for await (const chunk of answer.chunks()) {
        const part = chunk.subarray(0, span.length - filled);
        span.set(part, filled);
        filled += part.length;
        if (filled === span.length) break;
      }
      if (filled === span.length) return span;
      const reason = `the connection broke after ${filled} of ${span.length} bytes`;
      throw new DownloadError({ rule: 'Network', url, reason });
    } finally {
      await answer.cancel();
    }
  });
}
