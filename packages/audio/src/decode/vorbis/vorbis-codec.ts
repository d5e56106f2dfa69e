import { checkStream, corrupt } from '../decode-errors.js';
import type { OggCodec } from '../ogg/ogg-codec.js';
import type { DecodeContext } from '../sound-decoder.js';
import { bitLength, VorbisBits } from './vorbis-bits.js';
import { VorbisBlock } from './vorbis-block.js';
import { readSetup, type VorbisSetup } from './vorbis-setup.js';
import { windowSlope } from './window-slope.js';

const MARK_BYTES = 7;
/** The first byte of the setup header. */
const SETUP_MARK = 5;

/** Vorbis I. */
export class VorbisCodec implements OggCodec {
  readonly sampleRate: number;
  readonly headerCount = 3;
  readonly setupHeader = 2;
  readonly preSkip = 0;
  readonly #context: DecodeContext;
  readonly #channelCount: number;
  readonly #short: VorbisBlock;
  readonly #long: VorbisBlock;
  readonly #slopes: ReadonlyMap<number, Float32Array>;
  #setup: VorbisSetup | null = null;
  /** Second half of the previous block, windowed. */
  #overlap: Float32Array[] | null = null;

  private constructor(packet: Uint8Array, context: DecodeContext) {
    this.#context = context;
    const view = new DataView(packet.buffer, packet.byteOffset, packet.byteLength);
    if (packet.length < 30) corrupt(context, 'InvalidVorbis', 'its first header is too short');
    this.#channelCount = packet[11]!;
    this.sampleRate = view.getUint32(12, true);
    checkStream(context, this.sampleRate, this.#channelCount);
    const shortSize = 2 ** (packet[28]! & 15);
    const longSize = 2 ** (packet[28]! >> 4);
    if (view.getUint32(7, true) !== 0 || shortSize < 64 || longSize > 8192 || shortSize > longSize) {
      corrupt(context, 'InvalidVorbis', `blocks of ${shortSize} and ${longSize} samples`);
    }
    this.#short = new VorbisBlock(shortSize, this.#channelCount);
    this.#long = new VorbisBlock(longSize, this.#channelCount);
    this.#slopes = new Map([shortSize, longSize].map((size) => [size, windowSlope(size)]));
  }

  /** The codec for a stream that begins with `packet`, or null if it is not Vorbis. */
  static tryOpen(packet: Uint8Array, context: DecodeContext): VorbisCodec | null {
    return hasMark(packet, 1) ? new VorbisCodec(packet, context) : null;
  }

  readHeader(packet: Uint8Array): void {
    if (!hasMark(packet, SETUP_MARK))
      corrupt(this.#context, 'InvalidVorbis', 'its third header is not a setup');
    const setup = readSetup(new VorbisBits(packet.subarray(MARK_BYTES)), this.#channelCount);
    if (typeof setup === 'string') corrupt(this.#context, 'InvalidVorbis', setup);
    this.#setup = setup;
  }

  decode(packet: Uint8Array): readonly Float32Array[] {
    const bits = new VorbisBits(packet);
    // A first bit of 1 marks a header, which is not allowed here; an empty packet is a lost one.
    if (packet.length === 0 || bits.flag()) return [];
    const { modes } = this.#setup!;
    const mode = modes[bits.bits(bitLength(modes.length - 1))];
    if (mode === undefined)
      corrupt(this.#context, 'InvalidVorbis', 'a packet has a mode that does not exist');
    const block = mode.isLong ? this.#long : this.#short;
    const leftSize = mode.isLong && !bits.flag() ? this.#short.size : block.size;
    const rightSize = mode.isLong && !bits.flag() ? this.#short.size : block.size;
    const samples = block.decode(bits, mode.mapping);
    for (const channel of samples) {
      applySlope(channel, this.#slopes.get(leftSize)!, false);
      applySlope(channel, this.#slopes.get(rightSize)!, true);
    }
    const before = this.#overlap;
    this.#overlap = samples.map((channel) => channel.slice(block.size / 2));
    return before === null ? [] : before.map((half, channel) => join(half, samples[channel]!));
  }

  close(): void {}
}

function hasMark(packet: Uint8Array, type: number): boolean {
  return packet[0] === type && Buffer.from(packet.subarray(1, MARK_BYTES)).toString('latin1') === 'vorbis';
}

/** Multiplies the first half of a block, or mirrored the second, with zeros, the slope around its middle, and ones. */
function applySlope(samples: Float32Array, slope: Float32Array, isMirrored: boolean): void {
  const half = samples.length / 2;
  const begin = (half - slope.length) / 2;
  for (let j = 0; j < begin + slope.length; j += 1) {
    const place = isMirrored ? samples.length - 1 - j : j;
    samples[place] = j < begin ? 0 : samples[place]! * slope[j - begin]!;
  }
}

/** The samples between the middle of one block and the middle of the next. */
function join(before: Float32Array, samples: Float32Array): Float32Array {
  const half = samples.length / 2;
  const shift = (before.length - half) / 2;
  const joined = new Float32Array((before.length + half) / 2);
  joined.set(before.subarray(0, joined.length));
  for (let k = Math.max(0, shift); k < joined.length; k += 1) joined[k] = joined[k]! + samples[k - shift]!;
  return joined;
}
