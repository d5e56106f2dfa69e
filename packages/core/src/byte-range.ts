/** A span of a file, which a loader passes to a runtime instead of bytes. Nothing has been read. */
export interface ByteRange {
  /** Absolute path of the file. */
  readonly path: string;
  /** First byte of the span, counted from the start of the file. */
  readonly offsetBytes: number;
  /** Length of the span in bytes. */
  readonly sizeBytes: number;
}
