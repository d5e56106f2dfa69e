import { checksum } from '../src/decode/flac/crc.js';

/** Contents and header of a file of silence. */
export interface ToneFlac {
  /** Each has 65,535 samples in 13 bytes, plus 4 bytes per additional channel. */
  readonly frames: number;
  readonly sampleRate: number;
  /** Total that the header states; 0 = unknown. */
  readonly statedSamples: number;
  readonly channelCount?: number;
}

/** Samples per frame of `toneFlac`. */
export const FLAC_BLOCK = 65_535;

const crc8 = checksum(8, 0x07);
const crc16 = checksum(16, 0x8005);

/** A FLAC file of one value: 3 KB can contain hours. */
export function toneFlac({ frames, sampleRate, statedSamples, channelCount = 1 }: ToneFlac): Buffer {
  const info = Buffer.alloc(42);
  info.write('fLaC');
  info.set([0x80, 0, 0, 34], 4);
  info.writeUInt16BE(FLAC_BLOCK, 8);
  info.writeUInt16BE(FLAC_BLOCK, 10);
  const fields = (BigInt(sampleRate) << 44n) | (BigInt(channelCount - 1) << 41n) | (15n << 36n);
  info.writeBigUInt64BE(fields | BigInt(statedSamples), 18);
  // Block size in 16 bits, rate and bits as in the header, one or several independent channels, frame number 0.
  const header = Buffer.from([0xff, 0xf8, 0x70, (channelCount - 1) << 4, 0, 0xff, 0xfe]);
  const constant = Buffer.from([0, 0x10, 0]);
  const body = Buffer.concat([
    header,
    Buffer.of(crc8(header)),
    ...Array.from({ length: channelCount }, () => constant),
  ]);
  const end = Buffer.alloc(2);
  end.writeUInt16BE(crc16(body));
  const frame = Buffer.concat([body, end]);
  return Buffer.concat([info, ...Array.from({ length: frames }, () => frame)]);
}

/** A page of an Ogg stream. */
export interface OggPageFields {
  /** Packets of at most 254 bytes each. */
  readonly packets: readonly Uint8Array[];
  /** Null if no packet ends in the page. */
  readonly granule?: number | null;
  readonly isFirst?: boolean;
  readonly isLast?: boolean;
}

/** The bytes of a page. */
export function oggPage({ packets, granule = 0, isFirst = false, isLast = false }: OggPageFields): Buffer {
  const page = Buffer.concat([
    Buffer.alloc(27),
    Buffer.from(packets.map(({ length }) => length)),
    ...packets,
  ]);
  page.write('OggS');
  page[5] = (isFirst ? 2 : 0) + (isLast ? 4 : 0);
  page.writeBigInt64LE(BigInt(granule ?? -1), 6);
  page[26] = packets.length;
  let crc = 0;
  for (const byte of page) {
    crc ^= byte << 24;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc << 1) ^ (crc < 0 ? 0x04c1_1db7 : 0);
  }
  page.writeInt32LE(crc, 22);
  return page;
}

/** Samples per packet of `quietOpus`, at 48 kHz. */
export const OPUS_PACKET = 2880;
/** Packets per page of `quietOpus`. */
export const OPUS_PAGE_PACKETS = 255;

/** A stream of Opus whose packets are one byte for 60 ms of silence. @param granule end position stated by page `index` */
export function quietOpus(pages: number, granule: (index: number) => number | null): Buffer {
  const head = Buffer.alloc(19);
  head.write('OpusHead');
  head.set([1, 1], 8);
  head.writeUInt32LE(48_000, 12);
  const tags = Buffer.concat([Buffer.from('OpusTags'), Buffer.alloc(8)]);
  const packets = Array.from({ length: OPUS_PAGE_PACKETS }, () => Buffer.of(3 << 3));
  return Buffer.concat([
    oggPage({ packets: [head], isFirst: true }),
    oggPage({ packets: [tags] }),
    ...Array.from({ length: pages }, (_, index) =>
      oggPage({ packets, granule: granule(index), isLast: index === pages - 1 }),
    ),
  ]);
}
