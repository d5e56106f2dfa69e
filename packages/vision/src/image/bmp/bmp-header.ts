import { CorruptFileError, UnsupportedMediaError } from '@markbase/core';

const FILE_HEADER_BYTES = 14;
const CORE_HEADER_BYTES = 12;
const INFO_HEADER_BYTES = 40;
/** Where the masks of the colours are, after the fields of the older header. */
const MASKS_OFFSET = 54;
const MAX_COLORS = 256;

/** How the pixels of a BMP file are stored. */
export type BmpStorage = 'plain' | 'masks' | 'rle8' | 'rle4';

/** The header of a BMP file. */
export interface BmpHeader {
  readonly width: number;
  readonly height: number;
  /** True if the first row of the file is the top one. */
  readonly isTopDown: boolean;
  readonly bitsPerPixel: number;
  readonly storage: BmpStorage;
  /** Bits of red, green, blue and alpha in a pixel of 16 or 32 bits. */
  readonly masks: readonly number[];
  /** Red, green and blue of each index. */
  readonly palette: Uint8Array;
  /** Position of the pixels. */
  readonly dataOffset: number;
}

const STORAGES: readonly (BmpStorage | null)[] = ['plain', 'rle8', 'rle4', 'masks', null, null, 'masks'];

/**
 * Reads the header of a BMP file of Windows or OS/2 1.x.
 *
 * @throws CorruptFileError when it contradicts itself; UnsupportedMediaError for a JPEG or PNG inside of it
 */
export function parseBmpHeader(bytes: Uint8Array, subject: string): BmpHeader {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const require = (end: number) => {
    if (bytes.length < end) throw corruptBmp(subject, `its header ends after ${bytes.length} bytes`);
  };
  require(FILE_HEADER_BYTES + 4);
  const headerBytes = view.getUint32(FILE_HEADER_BYTES, true);
  require(FILE_HEADER_BYTES + headerBytes);
  const isCore = headerBytes === CORE_HEADER_BYTES;
  if (!isCore && headerBytes < INFO_HEADER_BYTES) {
    throw corruptBmp(subject, `its header states ${headerBytes} bytes`);
  }
  const width = isCore ? view.getUint16(18, true) : view.getInt32(18, true);
  const stated = isCore ? view.getUint16(20, true) : view.getInt32(22, true);
  const bitsPerPixel = view.getUint16(isCore ? 24 : 28, true);
  const compression = isCore ? 0 : view.getUint32(30, true);
  const storage = STORAGES[compression];
  if (storage === null) {
    const reason = 'a BMP file that holds a JPEG or a PNG; save it as one of these';
    throw new UnsupportedMediaError({ media: 'image', source: subject, reason });
  }
  const known = {
    plain: [1, 4, 8, 16, 24, 32],
    masks: [16, 32],
    rle8: [8],
    rle4: [4],
  };
  if (storage === undefined || !known[storage].includes(bitsPerPixel) || width < 1 || stated === 0) {
    const what = `${width} x ${stated} pixels of ${bitsPerPixel} bits, stored as ${compression}`;
    throw corruptBmp(subject, `its header states ${what}`);
  }
  const hasOwnMasks = storage === 'masks' && headerBytes === INFO_HEADER_BYTES;
  const maskCount = compression === 6 || headerBytes >= MASKS_OFFSET + 2 ? 4 : 3;
  if (storage === 'masks') require(MASKS_OFFSET + 4 * maskCount);
  const paletteOffset = FILE_HEADER_BYTES + headerBytes + (hasOwnMasks ? 4 * maskCount : 0);
  const colors = bitsPerPixel > 8 ? 0 : 2 ** bitsPerPixel;
  const used = isCore ? 0 : view.getUint32(46, true);
  const entryBytes = isCore ? 3 : 4;
  return {
    width,
    height: Math.abs(stated),
    isTopDown: stated < 0,
    bitsPerPixel,
    storage,
    masks: storage === 'masks' ? masksAt(view, maskCount) : defaultMasks(bitsPerPixel),
    palette: readPalette(
      bytes.subarray(paletteOffset),
      used === 0 ? colors : Math.min(used, colors),
      entryBytes,
    ),
    dataOffset: view.getUint32(10, true),
  };
}

/** The error for a file that violates its format. */
export function corruptBmp(path: string, reason: string): CorruptFileError {
  return new CorruptFileError({
    rule: 'UndecodableImage',
    path,
    reason: `the BMP file is damaged: ${reason}`,
  });
}

function masksAt(view: DataView, count: number): number[] {
  return Array.from({ length: 4 }, (_, index) =>
    index < count ? view.getUint32(MASKS_OFFSET + 4 * index, true) : 0,
  );
}

function defaultMasks(bitsPerPixel: number): number[] {
  return bitsPerPixel === 16 ? [0x7c00, 0x03e0, 0x001f, 0] : [0xff_0000, 0xff00, 0xff, 0];
}

/** Blue, green and red of each entry become red, green and blue; missing entries are black. */
function readPalette(bytes: Uint8Array, count: number, entryBytes: number): Uint8Array {
  const palette = new Uint8Array(3 * MAX_COLORS);
  for (let index = 0; index < count; index++) {
    for (let channel = 0; channel < 3; channel++) {
      palette[3 * index + channel] = bytes[index * entryBytes + 2 - channel] ?? 0;
    }
  }
  return palette;
}
