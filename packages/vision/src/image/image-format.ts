/** Supported formats of encoded pictures. */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif' | 'avif' | 'tiff' | 'bmp' | 'svg';

/** Bytes that tell all formats but SVG apart. */
export const FORMAT_BYTES = 64;
/** Declarations, comments and a licence may precede the first element of an SVG file. */
const SVG_HEAD_BYTES = 4096;

const MARKS: readonly (readonly [mark: RegExp, format: ImageFormat])[] = [
  [/^\x89PNG\r\n.\n/, 'png'],
  [/^\xff\xd8\xff/, 'jpeg'],
  [/^RIFF....WEBP/s, 'webp'],
  [/^GIF8[79]a/, 'gif'],
  [/^(?:II\*\0|MM\0\*|II\+\0|MM\0\+)/, 'tiff'],
  [/^BM.{12}[\f\x28\x34\x38\x40\x6c\x7c]\0\0\0/s, 'bmp'],
];

/** Formats that are named in errors. */
const FOREIGN: readonly (readonly [mark: RegExp, name: string])[] = [
  [/^(?:\xff\n|\0\0\0\fJXL )/, 'JPEG XL'],
  [/^(?:\0\0\0\fjP {2}|\xff\x4f\xff\x51)/, 'JPEG 2000'],
  [/^8BPS/, 'a Photoshop file'],
  [/^\0\0[^\0]\0/, 'a Windows icon'],
  [/^%PDF/, 'PDF'],
  [/^P[1-7]\s/, 'a portable bitmap (PNM)'],
];

/** Format by the first bytes of a file; null for everything else. */
export function imageFormat(bytes: Uint8Array): ImageFormat | null {
  const text = latin1(bytes.subarray(0, FORMAT_BYTES));
  const format = MARKS.find(([mark]) => mark.test(text))?.[1];
  if (format !== undefined) return format;
  if (text.startsWith('ftyp', 4))
    return brands(bytes, text).some((brand) => /^avi[fs]$/.test(brand)) ? 'avif' : null;
  return isSvg(bytes) ? 'svg' : null;
}

/** The name of a format that is recognised but not supported; null for everything else. */
export function foreignFormat(bytes: Uint8Array): string | null {
  const text = latin1(bytes.subarray(0, FORMAT_BYTES));
  if (isHeic(bytes, text)) return 'HEIC';
  return FOREIGN.find(([mark]) => mark.test(text))?.[1] ?? null;
}

function isHeic(bytes: Uint8Array, text: string): boolean {
  if (!text.startsWith('ftyp', 4)) return false;
  return brands(bytes, text).some((brand) => /^(?:hei[cmsx]|hev[cmx]|mif1|msf1)$/.test(brand));
}

/** A file type box lists its main brand at 8, a version, then compatible brands up to its end. */
function brands(bytes: Uint8Array, text: string): string[] {
  const boxBytes = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  const found: string[] = [];
  for (let at = 8; at + 4 <= Math.min(boxBytes, text.length); at += 4) {
    if (at !== 12) found.push(text.slice(at, at + 4));
  }
  return found;
}

/** True for text whose first element is `svg`. */
function isSvg(bytes: Uint8Array): boolean {
  const text = Buffer.from(bytes.subarray(0, SVG_HEAD_BYTES)).toString('utf8');
  const head = text
    .replace(/^\ufeff/, '')
    .replace(/^\s*(?:<\?[^>]*>|<!--[\s\S]*?-->|<!DOCTYPE[^>[]*(?:\[[^\]]*\])?[^>]*>|\s)*/i, '');
  return /^<(?:svg:)?svg[\s>]/.test(head);
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
