/** A codec inside of Ogg: takes packets, gives samples. */
export interface OggCodec {
  readonly sampleRate: number;
  /** Packets in front of the first one with sound, the one that names the codec included. */
  readonly headerCount: number;
  /** Samples at the beginning that granules count, but nobody should hear. */
  readonly preSkip: number;
  /** Waits until the codec can decode. */
  prepare?(): Promise<void>;
  /** Reads a header; `index` counts from 0. */
  readHeader(packet: Uint8Array, index: number): void;
  /** Samples of all channels that a packet gives; empty arrays for none. */
  decode(packet: Uint8Array): readonly Float32Array[];
  close(): void;
}
