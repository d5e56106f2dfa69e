import { CorruptFileError } from '@markbase/core';
import { DownloadError } from '../hub/download-error.js';
import type { ByteSource } from './byte-source.js';
import { type HttpOptions, requestSpan, type Span } from './request-span.js';

/** How to read a file through HTTP range requests. */
export interface HttpSourceOptions extends HttpOptions {
  /**
   * Bytes of the first request, which also learns the size of the file; default 128 KiB, so that most headers come with
   * it. 8 requests only the length of the header.
   */
  readonly firstRequestBytes?: number;
}

const FIRST_REQUEST_BYTES = 128 * 1024;

/** A file at an address. Every answer is checked to be the requested part of the same file. */
export class HttpSource implements ByteSource {
  readonly label: string;
  readonly sizeBytes: number;

  private constructor(
    private readonly address: string,
    private readonly first: Span,
    private readonly options: HttpSourceOptions,
  ) {
    this.label = withoutSecrets(address);
    this.sizeBytes = first.totalBytes;
  }

  /**
   * Requests the first bytes, and thereby the size.
   *
   * @throws DownloadError: RangeNotHonoured when the answer is not the requested part of a file of known size
   */
  static async open(address: URL, options: HttpSourceOptions = {}): Promise<HttpSource> {
    const length = Math.max(8, Math.floor(options.firstRequestBytes ?? FIRST_REQUEST_BYTES));
    const first = await requestSpan(address.href, { begin: 0, end: length, totalBytes: null }, options);
    return new HttpSource(address.href, first, options);
  }

  async read(target: Uint8Array, offsetBytes: number): Promise<void> {
    const { bytes, totalBytes, version } = this.first;
    const end = offsetBytes + target.length;
    if (end > totalBytes) {
      const reason = `the file has ${totalBytes} bytes, expected at least ${end}`;
      throw new CorruptFileError({ rule: 'UnexpectedEnd', path: this.label, reason, offsetBytes });
    }
    // What came with the first request is not requested again.
    const known = bytes.subarray(offsetBytes, end);
    target.set(known);
    if (known.length === target.length) return;
    const wanted = { begin: offsetBytes + known.length, end, totalBytes };
    const rest = await requestSpan(this.address, wanted, this.options);
    if (rest.totalBytes !== totalBytes || rest.version !== version) {
      const reason = 'the file on the server was changed since it was opened; open it again';
      throw new CorruptFileError({ rule: 'FileChanged', path: this.label, reason });
    }
    target.set(rest.bytes, known.length);
  }
}

/** An address as messages show it: signed ones carry secrets in the query. */
function withoutSecrets(address: string): string {
  return new DownloadError({ rule: 'Network', url: address, reason: '' }).url;
}
