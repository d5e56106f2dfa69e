import type { OpusDecoder } from 'opus-decoder';
import { checkStream, corrupt, unsupported } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';
import type { OggCodec } from './ogg-codec.js';
import { isOpusPacket } from './opus-packet.js';

const SAMPLE_RATE = 48_000;
/** Size of the decoder's input buffer, in bytes per channel; the format allows 1,275 for each 20 ms. */
const MAX_CHANNEL_BYTES = 3_840;

/** Opus, which always decodes at 48 kHz. */
export class OpusCodec implements OggCodec {
  readonly sampleRate = SAMPLE_RATE;
  readonly headerCount = 2;
  readonly setupHeader = null;
  readonly preSkip: number;
  readonly #context: DecodeContext;
  readonly #head: OpusHead;
  #decoder: OpusDecoder | null = null;

  private constructor(head: OpusHead, context: DecodeContext) {
    this.#head = head;
    this.#context = context;
    this.preSkip = head.preSkip;
  }

  /** The codec for a stream that begins with `packet`, or null if it is not Opus. */
  static tryOpen(packet: Uint8Array, context: DecodeContext): OpusCodec | null {
    const isOpus = Buffer.from(packet.subarray(0, 8)).toString('latin1') === 'OpusHead';
    return isOpus ? new OpusCodec(parseHead(packet, context), context) : null;
  }

  async prepare(): Promise<void> {
    const { channelCount, streamCount, coupledCount, mapping } = this.#head;
    // Only now: in ES modules of some bundlers it does not load, which must not hurt those who decode no Opus.
    const { OpusDecoder } = await import('opus-decoder');
    this.#decoder = new OpusDecoder({
      channels: channelCount,
      streamCount,
      coupledStreamCount: coupledCount,
      channelMappingTable: mapping,
    });
    await this.#decoder.ready;
  }

  readHeader(): void {}

  decode(packet: Uint8Array): readonly Float32Array[] {
    // As a mark of the end, or for a packet that was lost.
    if (packet.length === 0) return [];
    const { channelCount, streamCount, gain } = this.#head;
    if (packet.length > MAX_CHANNEL_BYTES * channelCount || (streamCount === 1 && !isOpusPacket(packet))) {
      corrupt(this.#context, 'InvalidOpus', `a packet of ${packet.length} bytes is not valid`);
    }
    const { channelData, errors } = this.#decoder!.decodeFrame(packet);
    if (errors.length > 0) corrupt(this.#context, 'InvalidOpus', errors[0]!.message);
    return gain === 1 ? channelData : channelData.map((samples) => samples.map((sample) => sample * gain));
  }

  close(): void {
    this.#decoder?.free();
    this.#decoder = null;
  }
}

interface OpusHead {
  readonly channelCount: number;
  readonly preSkip: number;
  readonly gain: number;
  readonly streamCount: number;
  readonly coupledCount: number;
  readonly mapping: number[];
}

function parseHead(packet: Uint8Array, context: DecodeContext): OpusHead {
  const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
  if (packet.length < 19) corrupt(context, 'InvalidOpus', 'its head is too short');
  if (packet[8]! >> 4 !== 0) unsupported(context, `Opus of version ${packet[8]}`);
  const channelCount = packet[9]!;
  checkStream(context, SAMPLE_RATE, channelCount);
  const common = {
    channelCount,
    preSkip: view.getUint16(10, true),
    gain: 10 ** (view.getInt16(16, true) / 256 / 20),
  };
  if (packet[18] === 0) {
    if (channelCount > 2) corrupt(context, 'InvalidOpus', `${channelCount} channels without a mapping`);
    const mapping = channelCount === 2 ? [0, 1] : [0];
    return { ...common, streamCount: 1, coupledCount: channelCount - 1, mapping };
  }
  const mapping = [...packet.subarray(21, 21 + channelCount)];
  const streamCount = packet[19] ?? 0;
  const coupledCount = packet[20] ?? 0;
  const isWithin = (target: number): boolean => target === 255 || target < streamCount + coupledCount;
  const isValid = streamCount > 0 && coupledCount <= streamCount && streamCount + coupledCount <= 255;
  if (!isValid || mapping.length < channelCount || !mapping.every(isWithin)) {
    corrupt(context, 'InvalidOpus', 'its channel mapping is not valid');
  }
  return { ...common, streamCount, coupledCount, mapping };
}
