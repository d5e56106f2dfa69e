import { CorruptFileError, FileAccessError } from '@markbase/core';
import type { ByteSource } from './byte-source.js';

/** A blob, such as a file that was dragged into a page: only what is asked for is read. */
export class BlobSource implements ByteSource {
  readonly label: string;
  readonly sizeBytes: number;

  constructor(private readonly blob: Blob) {
    const name = 'name' in blob && typeof blob.name === 'string' ? blob.name : '';
    this.label = name === '' ? '(blob)' : name;
    this.sizeBytes = blob.size;
  }

  async read(target: Uint8Array, offsetBytes: number): Promise<void> {
    let part: ArrayBuffer;
    try {
      part = await this.blob.slice(offsetBytes, offsetBytes + target.length).arrayBuffer();
    } catch (cause) {
      // Browsers and Node both refuse to read a file behind a blob that was changed since.
      const reason = 'the file was removed or changed since it was chosen; choose it again';
      throw new FileAccessError({ path: this.label, operation: 'read', reason, cause });
    }
    if (part.byteLength !== target.length) {
      throw new CorruptFileError({
        rule: 'UnexpectedEnd',
        path: this.label,
        reason: `the blob ends ${target.length - part.byteLength} bytes too early`,
        offsetBytes: offsetBytes + part.byteLength,
      });
    }
    target.set(new Uint8Array(part));
  }
}
