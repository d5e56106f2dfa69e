/** Supported formats of encoded pictures. */
export type ImageFormat = 'png' | 'jpeg' | 'webp' | 'gif' | 'avif';

/** Bytes that `imageFormat` looks at. */
export const FORMAT_BYTES = 64;

/**
 * Format by the first bytes of a file; null for everything else.
 *
 * Only these five reach a decoder: a decoder for vector graphics would follow links, and others are rarely tested.
 */
export function imageFormat(bytes: Uint8Array): ImageFormat | null {
  const text = latin1(bytes.subarray(0, FORMAT_BYTES));
  if (text.startsWith('\x89PNG\r\n\x1a\n')) return 'png';
  if (text.startsWith('\xff\xd8\xff')) return 'jpeg';
  if (text.startsWith('RIFF') && text.startsWith('WEBP', 8)) return 'webp';
  if (text.startsWith('GIF87a') || text.startsWith('GIF89a')) return 'gif';
  return text.startsWith('ftyp', 4) && hasAvifBrand(bytes, text) ? 'avif' : null;
}

/** A file type box lists its main brand at 8, a version, then compatible brands up to its end. */
function hasAvifBrand(bytes: Uint8Array, text: string): boolean {
  const boxBytes = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength).getUint32(0);
  for (let at = 8; at + 4 <= Math.min(boxBytes, text.length); at += 4) {
    if (at !== 12 && (text.startsWith('avif', at) || text.startsWith('avis', at))) return true;
  }
  return false;
}

function latin1(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes);
}
