import type { PcmFormat } from '../chunks/pcm-decoder.js';
import type { PcmEncoding } from '../chunks/pcm-encoding.js';
import { checkStream, corrupt, foreign } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';

const EXTENSIBLE = 0xfffe;
/** Bytes 2 to 15 of the GUIDs of ordinary format tags. */
const GUID_TAIL = '000000001000800000aa00389b71';
const FORMATS: Readonly<Record<number, readonly (PcmEncoding | null)[]>> = {
  // By bytes of a sample: none, 1, 2, 3, 4, …
  1: [null, 'u8', 's16le', 's24le', 's32le'],
  3: [null, null, null, null, 'f32le', null, null, null, 'f64le'],
  6: [null, 'alaw'],
  7: [null, 'mulaw'],
};
const FOREIGN_CODECS: Readonly<Record<number, string>> = {
  2: 'Microsoft ADPCM',
  17: 'IMA ADPCM',
  49: 'GSM 6.10',
  80: 'MPEG layer I or II',
  85: 'MP3',
  353: 'Windows Media Audio',
  255: 'AAC',
};

/**
 * Reads the `fmt ` chunk of a WAV file.
 *
 * @throws CorruptFileError when it contradicts itself; UnsupportedMediaError for codecs other than PCM, float, A-law, mu-law
 */
export function parseWavFormat(chunk: Uint8Array, context: DecodeContext): PcmFormat {
  if (chunk.length < 16)
    corrupt(context, 'InvalidWavFormat', `its fmt chunk has ${chunk.length} bytes, expected 16`);
  const view = new DataView(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  const channelCount = view.getUint16(2, true);
  const sampleRate = view.getUint32(4, true);
  const blockBytes = view.getUint16(12, true);
  const tag = formatTag(view, chunk, context);
  const byWidth = FORMATS[tag];
  if (byWidth === undefined) {
    foreign(context, `WAV with codec ${tag} (${FOREIGN_CODECS[tag] ?? 'unknown'})`);
  }
  checkStream(context, sampleRate, channelCount);
  const sampleBytes = blockBytes / channelCount;
  const encoding = byWidth[sampleBytes] ?? null;
  const bits = view.getUint16(14, true);
  if (encoding === null || bits > sampleBytes * 8) {
    corrupt(
      context,
      'InvalidWavFormat',
      `${bits} bits per sample, and ${blockBytes} bytes for ${channelCount} channels`,
    );
  }
  return { encoding, sampleRate, channelCount };
}

function formatTag(view: DataView, chunk: Uint8Array, context: DecodeContext): number {
  const tag = view.getUint16(0, true);
  if (tag !== EXTENSIBLE) return tag;
  if (chunk.length < 40) corrupt(context, 'InvalidWavFormat', 'its extensible fmt chunk is too short');
  const tail = Buffer.from(chunk.subarray(26, 40)).toString('hex');
  if (tail !== GUID_TAIL) foreign(context, 'WAV with a vendor-specific codec');
  return view.getUint16(24, true);
}
