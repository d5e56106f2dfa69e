/** Decoded samples of all channels; every channel has the same length. */
export interface SamplePiece {
  /** Samples per second and channel. */
  readonly sampleRate: number;
  /** One array per channel, in [-1, 1] except for overdriven float files. */
  readonly channels: readonly Float32Array[];
}

/** Turns the bytes of one container and codec into samples, in pieces of any size. */
export interface SoundDecoder {
  /** Samples that `bytes` complete. */
  push(bytes: Uint8Array): Iterable<SamplePiece> | AsyncIterable<SamplePiece>;
  /** The remaining samples at the end of the file; a `CorruptFileError` if something is missing. */
  finish(): Iterable<SamplePiece> | AsyncIterable<SamplePiece>;
  /** Frees what is not garbage collected. */
  close(): void;
}

/** What a decoder needs to know about the file it reads. */
export interface DecodeContext {
  /** Path or description, for messages. */
  readonly source: string;
  /** True: a truncated file yields what it contains instead of an error. */
  readonly acceptTruncated: boolean;
  /** Longest sound in seconds; infinite without a limit. */
  readonly maxSeconds: number;
  /** The end of the file, at least a page of Ogg; null if it cannot be read in advance. */
  readonly tail: () => Promise<Uint8Array | null>;
  /** Lets other work run, if it has waited for long. */
  readonly breathe: () => Promise<void>;
}
