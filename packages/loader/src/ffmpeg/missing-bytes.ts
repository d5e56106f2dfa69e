import { open } from 'node:fs/promises';

/** Bytes read at a time: the heads of boxes and elements. */
const HEAD_BYTES = 32;
/** A file has a handful of boxes at its top; fragments of live streams have two each. */
const MAX_BOXES = 100_000;
const EBML = 0x1a45_dfa3;
const SEGMENT = 0x1853_8067;
const TS_PACKET_BYTES = 188;
const TS_SYNC = 0x47;

/**
 * Bytes that a container lacks at its end, by the sizes that it states: the boxes of MP4, the segment of WebM and Matroska, the packets of
 * an MPEG transport stream. 0 for a whole file, for other containers, and for files whose sizes are unknown.
 *
 * Decoders read such a file without a complaint as far as it goes.
 */
export async function missingBytes(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const headAt = async (at: number) => {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, at);
      return buffer.subarray(0, bytesRead);
    };
    const head = await headAt(0);
    if (head.toString('latin1', 4, 8) === 'ftyp') return await missingOfBoxes(size, headAt);
    if (head.length >= 4 && head.readUInt32BE(0) === EBML) return await missingOfSegment(size, headAt);
    const isStream = head[0] === TS_SYNC && (await headAt(TS_PACKET_BYTES))[0] === TS_SYNC;
    return isStream ? (TS_PACKET_BYTES - (size % TS_PACKET_BYTES)) % TS_PACKET_BYTES : 0;
  } finally {
    await file.close();
  }
}

type HeadAt = (at: number) => Promise<Buffer>;

async function missingOfBoxes(size: number, headAt: HeadAt): Promise<number> {
  let at = 0;
  for (let count = 0; at < size && count < MAX_BOXES; count += 1) {
    const head = await headAt(at);
    if (head.length < 8) return 8 - head.length;
    const stated = head.readUInt32BE(0);
    // 0: up to the end of the file; 1: a size of 64 bits follows.
    if (stated === 0) return 0;
    const length = stated === 1 && head.length >= 16 ? Number(head.readBigUInt64BE(8)) : stated;
    // A file that ends in its first box is nothing but a name.
    if (length < 8 || (count === 0 && length > size)) return 0;
    at += length;
  }
  return Math.max(0, at - size);
}

async function missingOfSegment(size: number, headAt: HeadAt): Promise<number> {
  let at = 0;
  for (let count = 0; at < size && count < 8; count += 1) {
    const head = await headAt(at);
    const id = elementNumber(head, 0, true);
    const length = id && elementNumber(head, id.bytes, false);
    if (!id || !length || !Number.isFinite(length.value)) return 0;
    at += id.bytes + length.bytes + length.value;
    if (id.value === SEGMENT) return Math.max(0, at - size);
  }
  return 0;
}

/** An id or a size of EBML: the position of the first set bit is the number of bytes; a size of all ones is unknown. */
function elementNumber(head: Buffer, at: number, isId: boolean): { value: number; bytes: number } | null {
  const bytes = Math.clz32(head[at] ?? 0) - 23;
  if (bytes > 8 || at + bytes > head.length) return null;
  const first = isId ? head[at]! : head[at]! & (0xff >> bytes);
  const rest = head.subarray(at + 1, at + bytes);
  const isUnknown = !isId && first === 0xff >> bytes && rest.every((byte) => byte === 0xff);
  const value = rest.reduce((sum, byte) => sum * 256 + byte, first);
  return { value: isUnknown ? Number.POSITIVE_INFINITY : value, bytes };
}
