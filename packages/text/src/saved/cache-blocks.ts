import { BLOCK_TOKENS, type Device, type DeviceBuffer, type KvCache } from '@markbase/metal-runtime';
import type { Decoder } from '../model/layer.js';

/** One of the two arrays of a layer's cache. */
interface Part {
  readonly buffer: DeviceBuffer;
  /** Bytes of a block. */
  readonly sizeBytes: number;
}

/** The bytes of cache blocks on a device: of all full layers, or of all sliding layers, layer by layer. */
export class CacheBlocks {
  /** Bytes of a block of all full layers, and of one of all sliding layers. */
  readonly blockBytes: readonly [number, number];
  readonly #device: Device;
  readonly #parts: readonly [readonly Part[], readonly Part[]];

  constructor(device: Device, { layers }: Pick<Decoder, 'layers'>) {
    const caches = [...new Set(layers.map(({ attention }) => attention.cache))];
    const parts = (isFull: boolean) =>
      caches.filter(({ windowTokens }) => (windowTokens === null) === isFull).flatMap(partsOf);
    this.#device = device;
    this.#parts = [parts(true), parts(false)];
    this.blockBytes = this.#parts.map((list) => list.reduce((sum, part) => sum + part.sizeBytes, 0)) as [
      number,
      number,
    ];
  }

  /** Copies blocks from the device, one array each. No step may be running. */
  read(kind: 0 | 1, blocks: readonly number[]): Uint8Array[] {
    const records = blocks.map(() => new Uint8Array(this.blockBytes[kind]));
    this.#eachPart(kind, blocks, (part, begin, indices, bytes) => {
      this.#device.read(part.buffer, indices, bytes);
      for (const [index, record] of records.entries()) {
        record.set(bytes.subarray(index * part.sizeBytes, (index + 1) * part.sizeBytes), begin);
      }
    });
    return records;
  }

  /** Copies blocks to the device. No step may be running. */
  write(kind: 0 | 1, blocks: readonly number[], records: readonly Uint8Array[]): void {
    this.#eachPart(kind, blocks, (part, begin, indices, bytes) => {
      for (const [index, record] of records.entries()) {
        bytes.set(record.subarray(begin, begin + part.sizeBytes), index * part.sizeBytes);
      }
      this.#device.write(part.buffer, indices, bytes);
    });
  }

  #eachPart(
    kind: 0 | 1,
    blocks: readonly number[],
    copy: (part: Part, begin: number, indices: Int32Array, bytes: Uint8Array) => void,
  ): void {
    if (blocks.length === 0) return;
    const indices = Int32Array.from(blocks);
    let begin = 0;
    for (const part of this.#parts[kind]) {
      copy(part, begin, indices, new Uint8Array(part.sizeBytes * blocks.length));
      begin += part.sizeBytes;
    }
  }
}

function partsOf({ keys, values, kvHeadCount, headWidth, dtype }: KvCache): Part[] {
  const sizeBytes = BLOCK_TOKENS * kvHeadCount * headWidth * (dtype === 'F32' ? 4 : 2);
  return [keys, values].map((buffer) => ({ buffer, sizeBytes }));
}
