import { type ChunkLayout, fourLetters, statedSize, viewOf } from '../chunks/chunk-layout.js';
import { parseWavFormat } from './wav-format.js';

const SIZE_OFFSET = 4;

/** WAV: RIFF, and RF64 or BW64 for more than 4 GiB, with integer, float, A-law and mu-law samples. */
export const WAV_LAYOUT: ChunkLayout = {
  name: 'WAV',
  fileHeadBytes: 12,
  chunkHeadBytes: 8,
  isPadded: true,
  dataName: 'data',
  dataSkipBytes: 0,
  rule: 'InvalidWavFormat',
  statedEnd(fileHead) {
    const size = statedSize(viewOf(fileHead).getUint32(SIZE_OFFSET, true));
    return size === 0 ? Number.POSITIVE_INFINITY : size + 8;
  },
  readHead(bytes) {
    const name = fourLetters(bytes, 0);
    const size = viewOf(bytes).getUint32(SIZE_OFFSET, true);
    return { name, sizeBytes: name === 'data' ? statedSize(size) : size };
  },
  isNeeded: (name) => name === 'fmt ' || name === 'ds64',
  readChunk(name, content, context) {
    if (name === 'fmt ') return { format: parseWavFormat(content, context) };
    // Sizes of a file beyond 4 GiB: of the file, of the samples, and their number.
    return content.length >= 16 ? { longDataBytes: Number(viewOf(content).getBigUint64(8, true)) } : null;
  },
};
