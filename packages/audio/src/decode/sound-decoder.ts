/** Decoded samples of all channels; every channel has the same length. */
export interface SamplePiece {
  readonly sampleRate: number;
  /** One array a channel, in [-1, 1] but for overdriven float files. */
  readonly channels: readonly Float32Array[];
}

/** Turns the bytes of one container and codec into samples, in pieces of any size. */
export interface SoundDecoder {
  /** Samples that `bytes` complete. */
  push(bytes: Uint8Array): Iterable<SamplePiece> | AsyncIterable<SamplePiece>;
  /** What is left at the end of the file, which is a `CorruptFileError` where something is missing. */
  finish(): Iterable<SamplePiece> | AsyncIterable<SamplePiece>;
  /** Frees what is not garbage collected. */
  close(): void;
}

/** What a decoder has to know about the file it reads. */
export interface DecodeContext {
  /** Path, or words, for messages. */
  readonly source: string;
  /** True: a file that ends too early gives what it holds, and is no error. */
  readonly acceptTruncated: boolean;
}
