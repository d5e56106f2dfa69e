import { DisposedError } from '@markbase/core';
import type { DeviceBuffer } from './device-buffer.js';
import type { NativeBuffer, NativeDevice } from './native.js';

/** A buffer of the addon. */
export class AddonBuffer implements DeviceBuffer {
  readonly sizeBytes: number;
  /** The device that it belongs to. */
  readonly owner: NativeDevice;
  /** Memory of `allocate`, which the host can read and write between steps. */
  readonly isAllocated: boolean;
  #native: NativeBuffer | null;

  constructor(owner: NativeDevice, native: NativeBuffer, isAllocated = false) {
    this.owner = owner;
    this.isAllocated = isAllocated;
    this.#native = native;
    this.sizeBytes = native.sizeBytes;
  }

  /** The addon's object, for recording. @throws DisposedError */
  get native(): NativeBuffer {
    if (!this.#native) throw new DisposedError({ resource: 'buffer', operation: 'record' });
    return this.#native;
  }

  dispose(): void {
    this.#native?.dispose();
    this.#native = null;
  }

  [Symbol.dispose](): void {
    this.dispose();
  }
}
