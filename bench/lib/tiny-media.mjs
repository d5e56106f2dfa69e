// Small files that announce much.
import { crc32, deflateSync } from 'node:zlib';

const PNG_MARK = Buffer.from('89504e470d0a1a0a', 'hex');

/** A PNG of this size, with the pixels of one row at most: decoders read its header before they miss the others. */
export function png(width, height) {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.set([8, 2, 0, 0, 0], 8);
  const pixels = deflateSync(Buffer.alloc(64));
  return Buffer.concat([
    PNG_MARK,
    pngChunk('IHDR', header),
    pngChunk('IDAT', pixels),
    pngChunk('IEND', Buffer.alloc(0)),
  ]);
}

function pngChunk(name, content) {
  const named = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const [size, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  size.writeUInt32BE(content.length);
  sum.writeUInt32BE(crc32(named));
  return Buffer.concat([size, named, sum]);
}

/** Silence at 8 kHz with one byte per sample. */
export function wav(seconds) {
  const data = Buffer.alloc(44 + 8000 * seconds, 128);
  data.write('RIFF', 0, 'latin1');
  data.writeUInt32LE(data.length - 8, 4);
  data.write('WAVEfmt ', 8, 'latin1');
  data.writeUInt32LE(16, 16);
  data.writeUInt16LE(1, 20);
  data.writeUInt16LE(1, 22);
  data.writeUInt32LE(8000, 24);
  data.writeUInt32LE(8000, 28);
  data.writeUInt16LE(1, 32);
  data.writeUInt16LE(8, 34);
  data.write('data', 36, 'latin1');
  data.writeUInt32LE(data.length - 44, 40);
  return data;
}

const FLAC_BLOCK = 65_535;

/** A FLAC of one constant value: 14 to 16 bytes for 65,535 samples. */
export function flac(seconds, rate = 1000) {
  const frames = Math.ceil((seconds * rate) / FLAC_BLOCK);
  const info = Buffer.alloc(42);
  info.write('fLaC', 0, 'latin1');
  info.set([0x80, 0, 0, 34], 4);
  info.writeUInt16BE(FLAC_BLOCK, 8);
  info.writeUInt16BE(FLAC_BLOCK, 10);
  // 20 bits of rate, 3 of channels - 1, 5 of bits - 1, 36 of samples.
  const samples = BigInt(frames * FLAC_BLOCK);
  info.writeBigUInt64BE((BigInt(rate) << 44n) | (15n << 36n) | samples, 18);
  return Buffer.concat([info, ...Array.from({ length: frames }, (_, index) => flacFrame(index))]);
}

function flacFrame(index) {
  const number = index < 0x80 ? [index] : [0xc0 | (index >> 6), 0x80 | (index & 0x3f)];
  const header = [0xff, 0xf8, 0x70, 0x08, ...number, (FLAC_BLOCK - 1) >> 8, (FLAC_BLOCK - 1) & 0xff];
  const frame = [...header, crc(header, 8, 0x07), 0, 0x12, 0x34];
  const sum = crc(frame, 16, 0x8005);
  return Buffer.from([...frame, sum >> 8, sum & 0xff]);
}

function crc(bytes, bits, polynomial) {
  let sum = 0;
  for (const byte of bytes) {
    sum ^= byte << (bits - 8);
    for (let bit = 0; bit < 8; bit++) {
      const isSet = (sum >> (bits - 1)) & 1;
      sum = ((sum << 1) & (2 ** bits - 1)) ^ (isSet ? polynomial : 0);
    }
  }
  return sum;
}
