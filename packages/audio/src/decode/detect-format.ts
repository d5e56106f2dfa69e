import { READABLE } from './decode-errors.js';
import { isSameStream, parseMpegHeader } from './mpeg/mpeg-frames.js';

/** Containers that are read here. */
export type AudioFormat = 'wav' | 'aiff' | 'caf' | 'flac' | 'ogg' | 'matroska' | 'mpeg';

/** Bytes at the beginning of a file that show what it is. */
export const DETECT_BYTES = 16_384;
/** Number of consecutive MPEG audio frames that rules out coincidence. */
const MPEG_PROOF = 3;

const OWN: readonly (readonly [mark: RegExp, format: AudioFormat])[] = [
  [/^(?:RIFF|RF64|BW64)....WAVE/s, 'wav'],
  [/^FORM....AIF[FC]/s, 'aiff'],
  [/^caff/, 'caf'],
  [/^fLaC/, 'flac'],
  [/^OggS/, 'ogg'],
  [/^.E\xdf\xa3/s, 'matroska'],
];
/** Formats that ffmpeg reads. */
const FOREIGN_SOUNDS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/^....(?:ftyp|moov|mdat|wide|free)/s, 'MP4, M4A or QuickTime'],
  [/^#!AMR/, 'AMR'],
  [/^\x30\x26\xb2\x75/, 'Windows Media'],
  [/^RIFX/, 'RIFX'],
  [/^RIFF....AVI /s, 'AVI'],
  [/^riff\.\x91\xcf./s, 'Wave64'],
  [/^(?:\x7f\xfe\x80.|\xfe\x7f.\x80)/s, 'DTS'],
  [/^wvpk/, 'WavPack'],
  [/^MAC /, "Monkey's Audio"],
  [/^TTA1/, 'True Audio'],
  [/^(?:DSD |FRM8)/, 'DSD'],
  [/^(?:MPCK|MP\+)/, 'Musepack'],
  [/^\.snd/, 'Sun audio'],
  [/^FLV/, 'Flash video'],
  [/^\0\0.\xba/s, 'an MPEG program stream'],
];
/** Marks of two bytes, which MPEG audio may contain. */
const SHORT_MARKS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/^\xff[\xf0\xf1\xf8\xf9]/, 'AAC'],
  [/^\x56[\xe0-\xff]/, 'AAC'],
  [/^\vw/, 'AC-3'],
];
const TS_PACKET_BYTES = 188;
const TS_SYNC = 0x47;
const NO_SOUNDS: readonly (readonly [mark: RegExp, name: string])[] = [
  [/^MThd/, 'MIDI'],
  [/^(?:\x89PNG|\xff\xd8\xff|GIF8)/, 'an image'],
  [/^PK/, 'a ZIP archive'],
  [/^%PDF/, 'PDF'],
  [/^\s*(?:<|\{|\[)/, 'text'],
];

/** What a file is: a format that is read here, one that ffmpeg reads, or no sound. */
export type Detected =
  | { readonly format: AudioFormat }
  | { readonly foreign: string }
  | { readonly reason: string };

/** The format of a file by its first bytes. `head` must not begin with an ID3 tag. */
export function detectFormat(head: Uint8Array): Detected {
  const text = Buffer.from(head.subarray(0, 16)).toString('latin1');
  const named = <Name>(marks: readonly (readonly [mark: RegExp, name: Name])[]) =>
    marks.find(([mark]) => mark.test(text))?.[1];
  const format = named(OWN);
  if (format !== undefined) return { format };
  const sound = named(FOREIGN_SOUNDS);
  if (sound !== undefined) return { foreign: sound };
  if (hasMpegFrames(head)) return { format: 'mpeg' };
  const isStream = [0, 1, 2].every((packet) => head[packet * TS_PACKET_BYTES] === TS_SYNC);
  const foreign = isStream ? 'an MPEG transport stream' : named(SHORT_MARKS);
  if (foreign !== undefined) return { foreign };
  const name = named(NO_SOUNDS);
  const expected = `expected ${READABLE}, or with ffmpeg M4A and others`;
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
