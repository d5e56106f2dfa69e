import { corrupt, unsupported } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';
import { BitReader } from './bit-reader.js';
import { checksum } from './crc.js';
import type { FlacInfo } from './flac-info.js';
import { readSubframe } from './flac-subframe.js';

/** One decoded frame. */
export interface FlacFrame {
  readonly channels: readonly Float32Array[];
  /** Length of the frame in the file. */
  readonly byteLength: number;
}

interface FrameHeader {
  readonly blockSize: number;
  /** 0 to 7: number of channels minus one; 8 left/side, 9 side/right, 10 mid/side. */
  readonly assignment: number;
}

const crc8 = checksum(8, 0x07);
const crc16 = checksum(16, 0x8005);
const SAMPLE_BITS: readonly (number | null)[] = [null, 8, 12, null, 16, 20, 24, 32];

/**
 * Decodes the frame at the beginning of `bytes`, and checks both of its checksums.
 *
 * @param position of the frame in the file, for messages
 * @throws CorruptFileError; OutOfBitsError when the bytes end within the frame
 */
export function decodeFlacFrame(
  bytes: Uint8Array,
  info: FlacInfo,
  context: DecodeContext,
  position: number,
): FlacFrame {
  const reader = new BitReader(bytes);
  const fail = (reason: string): never => corrupt(context, 'InvalidFlac', reason, position);
  const header = readHeader(reader, bytes, info, context, fail);
  const channelCount = header.assignment < 8 ? header.assignment + 1 : 2;
  if (channelCount !== info.channelCount)
    fail(`a frame of ${channelCount} channels, expected ${info.channelCount}`);
  const samples = Array.from({ length: channelCount }, (_, channel) => {
    const target = new Float64Array(header.blockSize);
    const isDifference =
      header.assignment === (channel === 0 ? 9 : 8) || (channel === 1 && header.assignment === 10);
    const problem = readSubframe(reader, target, info.bitsPerSample + (isDifference ? 1 : 0));
    if (problem !== null) fail(problem);
    return target;
  });
  reader.align();
  const end = reader.byteOffset;
  const expected = reader.bits(16);
  if (crc16(bytes.subarray(0, end)) !== expected) fail('a frame does not match its checksum');
  separate(samples, header.assignment);
  const scale = 2 ** (1 - info.bitsPerSample);
  const channels = samples.map((channel) => scaled(channel, scale));
  return { channels, byteLength: end + 2 };
}

function readHeader(
  reader: BitReader,
  bytes: Uint8Array,
  info: FlacInfo,
  context: DecodeContext,
  fail: (reason: string) => never,
): FrameHeader {
  if (reader.bits(15) !== 0x7ffc) fail('expected the beginning of a frame');
  // Fixed or variable block size: it only determines what the number counts.
  reader.bits(1);
  const sizeCode = reader.bits(4);
  const rateCode = reader.bits(4);
  const assignment = reader.bits(4);
  const bitsCode = reader.bits(3);
  if (reader.bits(1) !== 0 || assignment > 10 || sizeCode === 0 || rateCode === 15)
    fail('a frame header is not valid');
  const bits = bitsCode === 0 ? info.bitsPerSample : (SAMPLE_BITS[bitsCode] ?? null);
  if (bits !== info.bitsPerSample)
    unsupported(context, `FLAC that changes from ${info.bitsPerSample} to ${bits} bits`);
  skipNumber(reader, fail);
  const blockSize = readBlockSize(reader, sizeCode);
  if (rateCode >= 12) reader.bits(rateCode === 12 ? 8 : 16);
  const headerBytes = reader.byteOffset;
  if (crc8(bytes.subarray(0, headerBytes)) !== reader.bits(8))
    fail('a frame header does not match its checksum');
  if (blockSize > info.maxBlockSize)
    fail(`a frame of ${blockSize} samples, expected ${info.maxBlockSize} at most`);
  return { blockSize, assignment };
}

function readBlockSize(reader: BitReader, code: number): number {
  if (code === 1) return 192;
  if (code <= 5) return 576 * 2 ** (code - 2);
  if (code === 6) return reader.bits(8) + 1;
  if (code === 7) return reader.bits(16) + 1;
  return 256 * 2 ** (code - 8);
}

/** Skips the number of the frame, which is written like a character in UTF-8. */
function skipNumber(reader: BitReader, fail: (reason: string) => never): void {
  const first = reader.bits(8);
  const ones = Math.clz32(~(first << 24));
  if (ones === 1 || ones === 8) fail('the number of a frame is not valid');
  for (let j = 1; j < ones; j += 1) {
    if (reader.bits(8) >> 6 !== 2) fail('the number of a frame is not valid');
  }
}

/** Converts left/side, side/right and mid/side to left/right. */
function separate(samples: readonly Float64Array[], assignment: number): void {
  if (assignment < 8) return;
  const [first, second] = samples as [Float64Array, Float64Array];
  for (let j = 0; j < first.length; j += 1) {
    const a = first[j]!;
    const b = second[j]!;
    if (assignment === 8) second[j] = a - b;
    else if (assignment === 9) first[j] = a + b;
    else {
      // The mid was halved; the side has the bit that was lost.
      const sum = 2 * a + Math.abs(b % 2);
      first[j] = (sum + b) / 2;
      second[j] = (sum - b) / 2;
    }
  }
}

function scaled(samples: Float64Array, scale: number): Float32Array {
  const result = new Float32Array(samples.length);
  for (let j = 0; j < samples.length; j += 1) result[j] = samples[j]! * scale;
  return result;
}
