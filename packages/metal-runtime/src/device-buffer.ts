/** Memory that a device can read or write. */
export interface DeviceBuffer {
  /** Bytes of the buffer. */
  readonly sizeBytes: number;
  /** Frees the memory once no program uses it any more. */
  dispose(): void;
  [Symbol.dispose](): void;
}
