const BACKSLASH = 0x5c;
const LOWER_U = 0x75;

/** The character after a backslash, and the character that the two represent. */
const PLAIN_ESCAPES: ReadonlyMap<number, number> = new Map([
  [0x22, 0x22],
  [BACKSLASH, BACKSLASH],
  [0x2f, 0x2f],
  [0x62, 0x08],
  [0x66, 0x0c],
  [0x6e, 0x0a],
  [0x72, 0x0d],
  [0x74, 0x09],
]);

/**
 * Reads the part of a JSON escape after the backslash. Returns the code point, or null for an invalid escape, such as
 * half of a surrogate pair.
 *
 * @param take returns the next byte, -1 at the end
 */
export function readEscape(take: () => number): number | null {
  const byte = take();
  if (byte !== LOWER_U) return PLAIN_ESCAPES.get(byte) ?? null;
  const unit = readHex(take);
  if (unit === null || unit < 0xd800 || unit > 0xdfff) return unit;
  if (unit > 0xdbff || take() !== BACKSLASH || take() !== LOWER_U) return null;
  const low = readHex(take);
  if (low === null || low < 0xdc00 || low > 0xdfff) return null;
  return 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
}

function readHex(take: () => number): number | null {
  let value = 0;
  for (let count = 0; count < 4; count++) {
    const digit = Number.parseInt(String.fromCharCode(Math.max(take(), 0)), 16);
    if (Number.isNaN(digit)) return null;
    value = value * 16 + digit;
  }
  return value;
}

/** Writes a code point as UTF-8. */
export function writeUtf8(codePoint: number, write: (byte: number) => void): void {
  if (codePoint < 0x80) {
    write(codePoint);
  } else if (codePoint < 0x800) {
    write(0xc0 | (codePoint >> 6));
    write(0x80 | (codePoint & 0x3f));
  } else if (codePoint < 0x10000) {
    write(0xe0 | (codePoint >> 12));
    write(0x80 | ((codePoint >> 6) & 0x3f));
    write(0x80 | (codePoint & 0x3f));
  } else {
    write(0xf0 | (codePoint >> 18));
    write(0x80 | ((codePoint >> 12) & 0x3f));
    write(0x80 | ((codePoint >> 6) & 0x3f));
    write(0x80 | (codePoint & 0x3f));
  }
}
