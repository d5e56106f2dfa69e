import { checkLength, checkStream, corrupt } from '../decode-errors.js';
import type { DecodeContext } from '../sound-decoder.js';

/** The STREAMINFO block: properties of all frames. */
export interface FlacInfo {
  readonly sampleRate: number;
  readonly channelCount: number;
  readonly bitsPerSample: number;
  /** Maximum number of samples per channel of a frame. */
  readonly maxBlockSize: number;
  /** 0 if the writer did not know it. */
  readonly totalSamples: number;
}

/** Bytes of a STREAMINFO block. */
export const FLAC_INFO_BYTES = 34;

/** Reads a STREAMINFO block. */
export function parseFlacInfo(block: Uint8Array, context: DecodeContext): FlacInfo {
  if (block.length < FLAC_INFO_BYTES) corrupt(context, 'InvalidFlac', 'its STREAMINFO block is too short');
  const view = new DataView(block.buffer, block.byteOffset, block.byteLength);
  const packed = view.getBigUint64(10);
  const info: FlacInfo = {
    sampleRate: Number(packed >> 44n),
    channelCount: Number((packed >> 41n) & 7n) + 1,
    bitsPerSample: Number((packed >> 36n) & 31n) + 1,
    maxBlockSize: view.getUint16(2),
    totalSamples: Number(packed & 0xf_ffff_ffffn),
  };
  if (info.maxBlockSize < 16 || info.bitsPerSample < 4) {
    corrupt(context, 'InvalidFlac', `blocks of ${info.maxBlockSize} samples with ${info.bitsPerSample} bits`);
  }
  checkStream(context, info.sampleRate, info.channelCount);
  checkLength(context, info.totalSamples, info.sampleRate);
  return info;
}
