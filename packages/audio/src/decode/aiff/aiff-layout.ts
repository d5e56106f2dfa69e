import { type ChunkLayout, fourLetters, statedSize, viewOf } from '../chunks/chunk-layout.js';
import type { PcmFormat } from '../chunks/pcm-decoder.js';
import type { PcmEncoding } from '../chunks/pcm-encoding.js';
import { checkStream, corrupt, foreign } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';

const COMM_BYTES = 18;
/** Encodings by the compression type of AIFF-C and by bytes of a sample; plain AIFF is `NONE`. */
const ENCODINGS: Readonly<Record<string, readonly (PcmEncoding | undefined)[]>> = {
  NONE: [undefined, 's8', 's16be', 's24be', 's32be'],
  twos: [undefined, 's8', 's16be', 's24be', 's32be'],
  sowt: [undefined, 's8', 's16le', 's24le', 's32le'],
  'raw ': [undefined, 'u8'],
  in24: [undefined, undefined, undefined, 's24be'],
  in32: [undefined, undefined, undefined, undefined, 's32be'],
};
/** Compression types whose samples have one width, whatever the file says about bits. */
const FIXED: Readonly<Record<string, PcmEncoding>> = {
  fl32: 'f32be',
  FL32: 'f32be',
  fl64: 'f64be',
  FL64: 'f64be',
  alaw: 'alaw',
  ALAW: 'alaw',
  ulaw: 'mulaw',
  ULAW: 'mulaw',
};

/** AIFF and AIFF-C: Apple's counterpart of WAV, with the most significant byte first. */
export const AIFF_LAYOUT: ChunkLayout = {
  name: 'AIFF',
  fileHeadBytes: 12,
  chunkHeadBytes: 8,
  isPadded: true,
  dataName: 'SSND',
  // An offset and a block size, both of which are zero in practice.
  dataSkipBytes: 8,
  rule: 'InvalidAiffFormat',
  statedEnd(fileHead) {
    const size = statedSize(viewOf(fileHead).getUint32(4));
    return size === 0 ? Number.POSITIVE_INFINITY : size + 8;
  },
  readHead(bytes) {
    const name = fourLetters(bytes, 0);
    const size = viewOf(bytes).getUint32(4);
    return { name, sizeBytes: name === 'SSND' ? statedSize(size) : size };
  },
  isNeeded: (name) => name === 'COMM',
  readChunk: (_, content, context) => ({ format: parseCommon(content, context) }),
};

/** Channels, frames, bits, the rate as an 80-bit number and, in AIFF-C, the compression type. */
function parseCommon(content: Uint8Array, context: DecodeContext): PcmFormat {
  if (content.length < COMM_BYTES) {
    corrupt(context, AIFF_LAYOUT.rule, `its COMM chunk has ${content.length} bytes, expected ${COMM_BYTES}`);
  }
  const view = viewOf(content);
  const channelCount = view.getUint16(0);
  const bits = view.getUint16(6);
  const sampleRate = extended(view, 8);
  const type = content.length >= COMM_BYTES + 4 ? fourLetters(content, COMM_BYTES) : 'NONE';
  checkStream(context, sampleRate, channelCount);
  const encoding = FIXED[type] ?? ENCODINGS[type]?.[Math.ceil(bits / 8)];
  if (encoding === undefined) {
    foreign(context, `AIFF with ${bits} bits per sample in the encoding "${type.trim()}"`);
  }
  return { encoding, sampleRate, channelCount };
}

/** A rate, which is positive, in the 80-bit format: 16 bits of exponent, 64 of mantissa. */
function extended(view: DataView, at: number): number {
  const exponent = view.getUint16(at) & 0x7fff;
  return Math.round(Number(view.getBigUint64(at + 2)) * 2 ** (exponent - 16_383 - 63));
}
