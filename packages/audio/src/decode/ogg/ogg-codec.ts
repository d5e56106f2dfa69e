/** A codec within Ogg: takes packets, returns samples. */
export interface OggCodec {
  readonly sampleRate: number;
  /** Number of packets before the first one with sound, including the one that names the codec. */
  readonly headerCount: number;
  /** Samples at the start that granules count but that must not be heard. */
  readonly preSkip: number;
  /** Waits until the codec can decode. */
  prepare?(): Promise<void>;
  /** Index of the one header that it needs besides the first; null if there is none. */
  readonly setupHeader: number | null;
  /** Reads the header of that index. */
  readHeader(packet: Uint8Array): void;
  /** Samples of all channels of a packet; empty arrays if there are none. */
  decode(packet: Uint8Array): readonly Float32Array[];
  close(): void;
}
