import { corrupt } from '../decode-errors.js';
import { OutOfBitsError } from '../flac/bit-reader.js';
import { decodeFlacFrame } from '../flac/flac-frame.js';
import { FLAC_INFO_BYTES, type FlacInfo, parseFlacInfo } from '../flac/flac-info.js';
import type { DecodeContext } from '../sound-decoder.js';
import type { OggCodec } from './ogg-codec.js';

/** Mark, version, header count, `fLaC` and the header of the STREAMINFO block. */
const INFO_OFFSET = 17;

/** FLAC in Ogg: one frame a packet. */
export class OggFlacCodec implements OggCodec {
  readonly headerCount: number;
  readonly setupHeader = null;
  readonly preSkip = 0;
  readonly #info: FlacInfo;
  readonly #context: DecodeContext;

  private constructor(packet: Uint8Array, context: DecodeContext) {
    this.#context = context;
    this.#info = parseFlacInfo(packet.subarray(INFO_OFFSET, INFO_OFFSET + FLAC_INFO_BYTES), context);
    this.headerCount = 1 + ((packet[7]! << 8) | packet[8]!);
  }

  /** The codec for a stream that begins with `packet`, or null if it is not FLAC. */
  static tryOpen(packet: Uint8Array, context: DecodeContext): OggFlacCodec | null {
    const isFlac = Buffer.from(packet.subarray(0, 5)).toString('latin1') === '\x7fFLAC';
    return isFlac ? new OggFlacCodec(packet, context) : null;
  }

  get sampleRate(): number {
    return this.#info.sampleRate;
  }

  readHeader(): void {}

  decode(packet: Uint8Array): readonly Float32Array[] {
    // Some writers end the stream with an empty packet.
    if (packet.length === 0) return [];
    try {
      return decodeFlacFrame(packet, this.#info, this.#context, 0).channels;
    } catch (error) {
      if (error instanceof OutOfBitsError)
        corrupt(this.#context, 'InvalidFlac', 'a frame is longer than its packet');
      throw error;
    }
  }

  close(): void {}
}
