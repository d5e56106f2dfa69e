import { OutOfMemoryError } from '@markbase/core';

/** A zeroed buffer of `sizeBytes`; what the platform cannot give is an `OutOfMemoryError`. */
export function allocateBytes(sizeBytes: number, label: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(sizeBytes);
  } catch {
    throw new OutOfMemoryError({ requestedBytes: sizeBytes, label });
  }
}
