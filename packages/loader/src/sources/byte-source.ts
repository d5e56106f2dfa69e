/** Bytes that can be read at any offset: a file, a blob, memory, or an address with range requests. */
export interface ByteSource {
  /** Path or address, for messages; `(memory)` and `(blob)` where there is neither. */
  readonly label: string;
  readonly sizeBytes: number;
  /**
   * Fills `target` with the bytes that begin at `offsetBytes`; nothing else is touched.
   *
   * @throws CorruptFileError (UnexpectedEnd) when the source ends too early, (FileChanged) when it has changed
   */
  read(target: Uint8Array, offsetBytes: number): Promise<void>;
}
