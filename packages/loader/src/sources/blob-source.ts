import { CorruptFileError, FileAccessError } from '@markbase/core';
import type { ByteSource } from './byte-source.js';

/** A blob, such as a file that was dragged into a page: only the requested bytes are read. */
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
      // Browsers and Node both refuse to read a blob whose file has changed.
      const reason = 'the file was removed or changed since it was chosen; choose it again';
      throw new FileAccessError({ path: this.label, operation: 'read', reason, cause });
    }
    if (part.byteLength !== target.length) {
      throw new CorruptFileError({
        rule: 'UnexpectedEnd',
        path: this.label,
        reason: `the blob is ${target.length - part.byteLength} bytes too short`,
        offsetBytes: offsetBytes + part.byteLength,
      });
    }
    target.set(new Uint8Array(part));
  }
}
