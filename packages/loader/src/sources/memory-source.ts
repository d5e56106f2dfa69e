import { CorruptFileError } from '@markbase/core';
import type { ByteSource } from './byte-source.js';

/** A whole file in memory. Reading copies, so that the file cannot be changed through a tensor. */
export class MemorySource implements ByteSource {
  readonly label = '(memory)';
  readonly sizeBytes: number;
  private readonly bytes: Uint8Array;

  constructor(memory: ArrayBufferLike | Uint8Array) {
    this.bytes = memory instanceof Uint8Array ? memory : new Uint8Array(memory);
    this.sizeBytes = this.bytes.length;
  }

  async read(target: Uint8Array, offsetBytes: number): Promise<void> {
    const end = offsetBytes + target.length;
    // A buffer that was transferred to another thread, or shrunk, is shorter than it was.
    if (end > this.bytes.length) {
      throw new CorruptFileError({
        rule: this.bytes.length === this.sizeBytes ? 'UnexpectedEnd' : 'FileChanged',
        path: this.label,
        reason: `the memory has ${this.bytes.length} bytes, expected at least ${end}`,
        offsetBytes,
      });
    }
    target.set(this.bytes.subarray(offsetBytes, end));
  }
}
