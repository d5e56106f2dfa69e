import { type ChunkLayout, fourLetters, viewOf } from '../chunks/chunk-layout.js';
import type { PcmFormat } from '../chunks/pcm-decoder.js';
import type { PcmEncoding } from '../chunks/pcm-encoding.js';
import { checkStream, corrupt, foreign } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';

const DESCRIPTION_BYTES = 32;
const IS_FLOAT = 1;
const IS_LITTLE_ENDIAN = 2;
const CODEC_NAMES: Readonly<Record<string, string>> = {
  'aac ': 'AAC',
  alac: 'Apple Lossless',
  ima4: 'IMA ADPCM',
  opus: 'Opus',
};

/** Core Audio Format with uncompressed, A-law or mu-law samples: what recorders on Apple's systems write. */
export const CAF_LAYOUT: ChunkLayout = {
  name: 'CAF',
  fileHeadBytes: 8,
  chunkHeadBytes: 12,
  isPadded: false,
  dataName: 'data',
  // The number of edits.
  dataSkipBytes: 4,
  rule: 'InvalidCafFormat',
  statedEnd: () => Number.POSITIVE_INFINITY,
  readHead(bytes) {
    const size = Number(viewOf(bytes).getBigInt64(4));
    return { name: fourLetters(bytes, 0), sizeBytes: size < 0 ? Number.POSITIVE_INFINITY : size };
  },
  isNeeded: (name) => name === 'desc',
  readChunk: (_, content, context) => ({ format: parseDescription(content, context) }),
};

/** Rate as float64, format, flags, bytes and frames of a packet, channels, bits. */
function parseDescription(content: Uint8Array, context: DecodeContext): PcmFormat {
  if (content.length < DESCRIPTION_BYTES) {
    const reason = `its desc chunk has ${content.length} bytes, expected ${DESCRIPTION_BYTES}`;
    corrupt(context, CAF_LAYOUT.rule, reason);
  }
  const view = viewOf(content);
  const type = fourLetters(content, 8);
  const [sampleRate, flags] = [view.getFloat64(0), view.getUint32(12)];
  const [packetBytes, channelCount, bits] = [view.getUint32(16), view.getUint32(24), view.getUint32(28)];
  const encoding = encodingOf(type, flags, bits);
  if (encoding === null) {
    const what = type === 'lpcm' ? `${bits} bits per sample` : (CODEC_NAMES[type] ?? `codec "${type}"`);
    foreign(context, `Core Audio with ${what}`);
  }
  checkStream(context, sampleRate, channelCount);
  if (packetBytes !== channelCount * Math.ceil(bits / 8)) {
    corrupt(context, CAF_LAYOUT.rule, `${packetBytes} bytes for ${channelCount} channels of ${bits} bits`);
  }
  return { encoding, sampleRate, channelCount };
}

function encodingOf(type: string, flags: number, bits: number): PcmEncoding | null {
  if (type === 'alaw') return 'alaw';
  if (type === 'ulaw') return 'mulaw';
  if (type !== 'lpcm') return null;
  const order = flags & IS_LITTLE_ENDIAN ? 'le' : 'be';
  if (flags & IS_FLOAT) return bits === 32 || bits === 64 ? `f${bits}${order}` : null;
  if (bits === 8) return 's8';
  return bits === 16 || bits === 24 || bits === 32 ? `s${bits}${order}` : null;
}
