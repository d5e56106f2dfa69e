import { type BmpHeader, corruptBmp } from './bmp-header.js';

/** Indices into the palette [height, width], rows in the order of the file. Pixels that a compressed file leaves out have index 0. */
export function readIndices(bytes: Uint8Array, header: BmpHeader, subject: string): Uint8Array {
  return header.storage === 'plain' ? packedIndices(bytes, header) : runLengthIndices(bytes, header, subject);
}

function packedIndices(bytes: Uint8Array, { width, height, bitsPerPixel }: BmpHeader): Uint8Array {
  const indices = new Uint8Array(width * height);
  const perByte = 8 / bitsPerPixel;
  const mask = 2 ** bitsPerPixel - 1;
  const rowBytes = Math.ceil((width * bitsPerPixel) / 32) * 4;
  for (let row = 0, at = 0; row < height; row++) {
    for (let column = 0; column < width; column++) {
      const byte = bytes[row * rowBytes + Math.floor(column / perByte)]!;
      indices[at++] = (byte >> (bitsPerPixel * (perByte - 1 - (column % perByte)))) & mask;
    }
  }
  return indices;
}

const END_OF_LINE = 0;
const END_OF_PICTURE = 1;
const MOVE = 2;

/** Runs of one index, or of two that alternate in files of 4 bits; a run of length 0 introduces a command or literal indices. */
function runLengthIndices(bytes: Uint8Array, header: BmpHeader, subject: string): Uint8Array {
  const { width, height } = header;
  const isNarrow = header.storage === 'rle4';
  const indices = new Uint8Array(width * height);
  let [row, column, at] = [0, 0, 0];
  const put = (index: number) => {
    if (column < width && row < height) indices[row * width + column] = index;
    column++;
  };
  const half = (byte: number, position: number) => (position % 2 === 0 ? byte >> 4 : byte & 15);
  while (row < height) {
    const [count, value] = [bytes[at], bytes[at + 1]];
    if (count === undefined || value === undefined) throw corruptBmp(subject, 'its pixels end too early');
    at += 2;
    if (count > 0) {
      for (let position = 0; position < count; position++) put(isNarrow ? half(value, position) : value);
    } else if (value === END_OF_PICTURE) {
      break;
    } else if (value === END_OF_LINE) {
      row++;
      column = 0;
    } else if (value === MOVE) {
      column += bytes[at] ?? 0;
      row += bytes[at + 1] ?? 0;
      at += 2;
    } else {
      for (let position = 0; position < value; position++) {
        const byte = bytes[at + (isNarrow ? position >> 1 : position)] ?? 0;
        put(isNarrow ? half(byte, position) : byte);
      }
      const literalBytes = isNarrow ? Math.ceil(value / 2) : value;
      // Literals fill whole words of 16 bits.
      at += literalBytes + (literalBytes % 2);
    }
  }
  return indices;
}
