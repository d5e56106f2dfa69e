import { isSameStream, parseMpegHeader } from './mpeg/mpeg-frames.js';

/** Supported containers. */
export type AudioFormat = 'wav' | 'flac' | 'ogg' | 'mpeg';

/** Bytes at the beginning of a file that show what it is. */
export const DETECT_BYTES = 16_384;
/** Number of consecutive MPEG audio frames that rules out coincidence. */
const MPEG_PROOF = 3;

const FOREIGN: readonly (readonly [mark: RegExp, name: string])[] = [
  [/^....ftyp/s, 'MP4 or M4A'],
  [/^.E\xdf\xa3/s, 'WebM or Matroska'],
  [/^FORM....AIF[FC]/s, 'AIFF'],
  [/^caff/, 'Core Audio'],
  [/^#!AMR/, 'AMR'],
  [/^\x30\x26\xb2\x75/, 'Windows Media'],
  [/^(?:RIFX|RIFF....(?!WAVE))/s, 'RIFF other than WAV'],
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'AAC'],
  [/^wvpk/, 'WavPack'],
  [/^MAC /, "Monkey's Audio"],
  [/^(?:DSD |FRM8)/, 'DSD'],
  [/^\.snd/, 'Sun audio'],
  [/^MThd/, 'MIDI'],
  [/^(?:\x89PNG|\xff\xd8\xff|GIF8)/, 'an image'],
  [/^PK/, 'a ZIP archive'],
  [/^%PDF/, 'PDF'],
  [/^\s*(?:<|\{|\[)/, 'text'],
];

/** The format of a file by its first bytes, or a description of what it is instead. `head` must not begin with an ID3 tag. */
export function detectFormat(head: Uint8Array): { format: AudioFormat } | { reason: string } {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1');
  if (/^(?:RIFF|RF64|BW64)....WAVE/s.test(text)) return { format: 'wav' };
  if (text.startsWith('fLaC')) return { format: 'flac' };
  if (text.startsWith('OggS')) return { format: 'ogg' };
  if (hasMpegFrames(head)) return { format: 'mpeg' };
  const name = FOREIGN.find(([mark]) => mark.test(text))?.[1];
  const expected = 'expected WAV, FLAC, MP3, Ogg Vorbis, Ogg Opus or Ogg FLAC';
  if (name !== undefined) return { reason: `this is ${name}; ${expected}` };
  return {
    reason: `it is not a known sound format; ${expected}, or describe raw samples with \`pcm\``,
  };
}

/** True if consecutive MPEG audio frames start at one of the first bytes, or the file is a single frame. */
function hasMpegFrames(head: Uint8Array): boolean {
  const first = parseMpegHeader(head);
  if (first !== null && first.byteLength >= head.length) return true;
  for (let at = 0; at + 4 <= head.length; at += 1) {
    if (head[at] === 0xff && countFrames(head, at) >= (at === 0 ? 2 : MPEG_PROOF)) return true;
  }
  return false;
}

function countFrames(head: Uint8Array, from: number): number {
  const first = parseMpegHeader(head, from);
  let count = 0;
  let header = first;
  for (let at = from; header !== null && isSameStream(first!, header); count += 1) {
    if (count >= MPEG_PROOF) break;
    at += header.byteLength;
    header = parseMpegHeader(head, at);
  }
  return count;
}
