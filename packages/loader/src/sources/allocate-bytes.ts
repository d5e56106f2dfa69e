import { OutOfMemoryError } from '@markbase/core';

/** A zeroed buffer of `sizeBytes`; an `OutOfMemoryError` if the platform cannot allocate it. */
export function allocateBytes(sizeBytes: number, label: string): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(sizeBytes);
  } catch {
    throw new OutOfMemoryError({ requestedBytes: sizeBytes, label });
  }
}
