import { ByteQueue } from '../byte-queue.js';

/** The four header bytes of a frame, parsed. */
export interface MpegHeader {
  readonly version: 1 | 2 | 2.5;
  readonly layer: 1 | 2 | 3;
  readonly sampleRate: number;
  readonly channelCount: 1 | 2;
  /** Samples per channel. */
  readonly sampleCount: number;
  /** Length including the header; 0 for a free bit rate, which is not supported. */
  readonly byteLength: number;
}

/** Bytes of a header. */
const MPEG_HEADER_BYTES = 4;
const SAMPLE_RATES = [44_100, 48_000, 32_000] as const;
/** kbit/s by index 1 to 14; layers I to III of version 1, then layer I and layers II and III of versions 2 and 2.5. */
const BIT_RATES = {
  v1: [
    [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
    [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
    [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
  ],
  v2: [
    [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
    [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160],
  ],
} as const;

/** Reads the header at `at`; null if there is none. */
export function parseMpegHeader(bytes: Uint8Array, at = 0): MpegHeader | null {
  const b1 = bytes[at + 1] ?? 0;
  const b2 = bytes[at + 2] ?? 0;
  if (bytes[at] !== 0xff || b1 < 0xe0 || at + MPEG_HEADER_BYTES > bytes.length) return null;
  const version = ([2.5, null, 2, 1] as const)[(b1 >> 3) & 3];
  const layer = ([null, 3, 2, 1] as const)[(b1 >> 1) & 3];
  const bitRate = BIT_RATES[version === 1 ? 'v1' : 'v2'][(layer ?? 1) - 1]?.[(b2 >> 4) - 1];
  const baseRate = SAMPLE_RATES[(b2 >> 2) & 3];
  if (!version || !layer || bitRate === undefined || baseRate === undefined) return null;
  const sampleRate = baseRate / { 1: 1, 2: 2, 2.5: 4 }[version];
  const padding = (b2 >> 1) & 1;
  const sampleCount = layer === 1 ? 384 : layer === 3 && version !== 1 ? 576 : 1152;
  // Layer I counts in slots of four bytes.
  const slotBytes = layer === 1 ? 4 : 1;
  const slots = Math.floor((sampleCount / 8 / slotBytes) * ((bitRate * 1000) / sampleRate)) + padding;
  const channelCount = bytes[at + 3]! >> 6 === 3 ? 1 : 2;
  return { version, layer, sampleRate, channelCount, sampleCount, byteLength: slots * slotBytes };
}

/** True if the second frame can follow the first in one stream: these fields never change. */
export function isSameStream(a: MpegHeader, b: MpegHeader): boolean {
  return a.version === b.version && a.layer === b.layer && a.sampleRate === b.sampleRate;
}

/** Splits the bytes of an MPEG file into frames. Anything between frames, such as tags, is skipped. */
export class MpegFrames {
  readonly #queue = new ByteQueue();
  #first: MpegHeader | null = null;
  /** True while the last bytes were a frame, so that the next one needs no proof. */
  #isInStep = false;
  /** The rest of a tag, which has not arrived yet. */
  #skipBytes = 0;
  /** Bytes between frames that were not tags. */
  lostBytes = 0;

  /** Header of the first frame. */
  get header(): MpegHeader | null {
    return this.#first;
  }

  /** Frames that `bytes` complete. */
  *push(bytes: Uint8Array): Generator<Uint8Array> {
    this.#queue.push(bytes);
    yield* this.#read(false);
  }

  /** The last frames, which no frame needs to follow. */
  *finish(): Generator<Uint8Array> {
    yield* this.#read(true);
  }

  /** Bytes of an incomplete frame. */
  get unfinishedBytes(): number {
    const header = parseMpegHeader(this.#queue.peek(MPEG_HEADER_BYTES));
    return header !== null && this.#isInStep ? this.#queue.length : 0;
  }

  *#read(isEnd: boolean): Generator<Uint8Array> {
    const queue = this.#queue;
    this.#skip(this.#skipBytes);
    while (queue.length >= MPEG_HEADER_BYTES) {
      const ahead = queue.peek();
      const header = parseMpegHeader(ahead);
      if (header !== null && (this.#first === null || isSameStream(this.#first, header))) {
        const next = this.#isInStep ? header : this.#follower(ahead, header, isEnd);
        if (next === 'unknown' || (next !== null && ahead.length < header.byteLength)) return;
        if (next !== null) {
          this.#first ??= header;
          this.#isInStep = true;
          yield queue.take(header.byteLength);
          continue;
        }
      }
      this.#isInStep = false;
      const tagBytes = tagLength(ahead);
      if (tagBytes === 0) this.lostBytes += 1;
      this.#skip(Math.max(1, tagBytes));
    }
  }

  #skip(count: number): void {
    const present = Math.min(count, this.#queue.length);
    this.#queue.skip(present);
    this.#skipBytes = count - present;
  }

  /** The header after a frame, which confirms it; 'unknown' until it has arrived. */
  #follower(ahead: Uint8Array, header: MpegHeader, isEnd: boolean): MpegHeader | 'unknown' | null {
    const end = header.byteLength;
    if (end + MPEG_HEADER_BYTES > ahead.length)
      return isEnd && end === ahead.length ? header : isEnd ? null : 'unknown';
    const next = parseMpegHeader(ahead, end);
    if (next !== null) return isSameStream(header, next) ? next : null;
    return tagLength(ahead.subarray(end)) > 0 ? header : null;
  }
}

/** Length of an ID3 or APE tag at the beginning of `bytes`; 0 if there is none. */
function tagLength(bytes: Uint8Array): number {
  const mark = Buffer.from(bytes.subarray(0, 8)).toString('latin1');
  if (mark.startsWith('TAG')) return 128;
  if (mark.startsWith('ID3')) return id3Length(bytes);
  if (mark === 'APETAGEX' && bytes.length >= 32) {
    const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(12, true);
    const isHeader = (bytes[23]! & 0x20) !== 0;
    return isHeader ? size + 32 : 32;
  }
  return 0;
}

/** Bytes that tell the length of an ID3v2 tag. */
export const ID3_HEADER_BYTES = 10;

/** Length of the ID3v2 tag at the beginning of `bytes`, as stated in its ten header bytes; 0 if there is none. */
export function id3Length(bytes: Uint8Array): number {
  if (bytes.length < ID3_HEADER_BYTES || Buffer.from(bytes.subarray(0, 3)).toString('latin1') !== 'ID3')
    return 0;
  const digits = bytes.subarray(6, 10);
  if (digits.some((digit) => digit >= 0x80)) return 0;
  const size = digits.reduce((sum, digit) => sum * 128 + digit, 0);
  const hasFooter = (bytes[5]! & 0x10) !== 0;
  return ID3_HEADER_BYTES + size + (hasFooter ? ID3_HEADER_BYTES : 0);
}
