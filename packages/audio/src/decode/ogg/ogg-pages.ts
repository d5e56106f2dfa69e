import { ByteQueue } from '../byte-queue.js';
import { corrupt } from '../decode-errors.js';
import { checksum } from '../flac/crc.js';
import type { DecodeContext } from '../sound-decoder.js';

/** One page of an Ogg file: packets of one logical stream; the last one may be unfinished. */
export interface OggPage {
  readonly serial: number;
  readonly isFirst: boolean;
  readonly isLast: boolean;
  /** True if the first part continues the unfinished packet of the previous page. */
  readonly continues: boolean;
  /** Samples up to the end of the last packet that ends here; null if none does. */
  readonly granule: number | null;
  /** Packets, or parts of packets, in this page. */
  readonly parts: readonly Uint8Array[];
  /** True if the last part completes its packet. */
  readonly endsPacket: boolean;
}

const HEADER_BYTES = 27;
/** Every page begins with these bytes: the mark, and version 0. */
const MARK = 'OggS\0';
const crc32 = checksum(32, 0x04c1_1db7);

/** Splits the bytes of an Ogg file into pages and verifies their checksums. */
export class OggPages {
  readonly #context: DecodeContext;
  readonly #queue = new ByteQueue();

  constructor(context: DecodeContext) {
    this.#context = context;
  }

  /** Bytes of an incomplete page. */
  get waitingBytes(): number {
    return this.#queue.length;
  }

  /** Pages that `bytes` complete. */
  *push(bytes: Uint8Array): Generator<OggPage> {
    this.#queue.push(bytes);
    for (let page = this.#next(); page !== null; page = this.#next()) yield page;
  }

  #next(): OggPage | null {
    const queue = this.#queue;
    if (queue.length < HEADER_BYTES) return null;
    const header = queue.peek(HEADER_BYTES);
    if (Buffer.from(header.subarray(0, 5)).toString('latin1') !== MARK) {
      corrupt(this.#context, 'InvalidOgg', 'expected the beginning of an Ogg page', queue.position);
    }
    const segmentCount = header[26]!;
    if (queue.length < HEADER_BYTES + segmentCount) return null;
    const sizes = queue.peek(HEADER_BYTES + segmentCount).slice(HEADER_BYTES);
    const bodyBytes = sizes.reduce((sum, size) => sum + size, 0);
    if (queue.length < HEADER_BYTES + segmentCount + bodyBytes) return null;
    const position = queue.position;
    // Packets outlive the page.
    const page = queue.take(HEADER_BYTES + segmentCount + bodyBytes).slice();
    this.#check(page, position);
    return parsePage(page, sizes);
  }

  #check(page: Uint8Array, position: number): void {
    const view = new DataView(page.buffer);
    const expected = view.getUint32(22, true);
    view.setUint32(22, 0);
    if (crc32(page) !== expected)
      corrupt(this.#context, 'InvalidOgg', 'a page does not match its checksum', position);
  }
}

/** Granule position of the last page of a stream that begins in `bytes`, the end of a file; null if there is none. */
export function lastGranule(bytes: Uint8Array, serial: number): number | null {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let at = buffer.length - HEADER_BYTES; at >= 0; at -= 1) {
    at = buffer.lastIndexOf(MARK, at);
    if (at < 0) return null;
    const granule = buffer.readBigInt64LE(at + 6);
    if (buffer.readUInt32LE(at + 14) === serial && granule >= 0n) return Number(granule);
  }
  return null;
}

function parsePage(page: Uint8Array, sizes: Uint8Array): OggPage {
  const view = new DataView(page.buffer);
  const flags = page[5]!;
  const granule = view.getBigInt64(6, true);
  const parts: Uint8Array[] = [];
  let start = HEADER_BYTES + sizes.length;
  let end = start;
  for (const size of sizes) {
    end += size;
    // A segment of less than 255 bytes ends its packet.
    if (size === 255) continue;
    parts.push(page.subarray(start, end));
    start = end;
  }
  const endsPacket = sizes.length === 0 || sizes.at(-1)! < 255;
  if (!endsPacket) parts.push(page.subarray(start, end));
  return {
    serial: view.getUint32(14, true),
    continues: (flags & 1) !== 0,
    isFirst: (flags & 2) !== 0,
    isLast: (flags & 4) !== 0,
    granule: granule < 0n ? null : Number(granule),
    parts,
    endsPacket,
  };
}
