import { describe, expect, it } from 'vitest';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { MemorySource } from '../sources/memory-source.js';
import { readSafetensors } from './read-safetensors.js';

/** A source that records the requested bytes. */
class WatchedSource extends MemorySource {
  readonly spans: [begin: number, end: number][] = [];

  override read(target: Uint8Array, offsetBytes: number): Promise<void> {
    this.spans.push([offsetBytes, offsetBytes + target.length]);
    return super.read(target, offsetBytes);
  }
}

const HEADER =
  '{"a":{"dtype":"U8","shape":[2,3],"data_offsets":[0,6]},"b":{"dtype":"U8","shape":[0],"data_offsets":[6,6]}}';

describe('readSafetensors', () => {
  it('reads the bytes of a tensor only when it is requested, and no others', async () => {
    const source = new WatchedSource(rawSafetensors(HEADER, new Uint8Array(6)));
    const { tensors } = await readSafetensors(source);
    const start = 8 + HEADER.length;
    expect(source.spans.splice(0)).toEqual([
      [0, 8],
      [8, start],
    ]);
    const rows = tensors.get('a')!.slice(1, 2);
    expect(source.spans).toEqual([]);
    await rows.read();
    await tensors.get('b')!.read();
    expect(source.spans).toEqual([[start + 3, start + 6]]);
  });

  it('does not read a header that is too long, or longer than the file', async () => {
    for (const length of [2n ** 64n - 1n, 2n ** 63n, 100_000_001n, 99_999_999n, 7n]) {
      const bytes = rawSafetensors('{    }');
      new DataView(bytes.buffer).setBigUint64(0, length, true);
      const source = new WatchedSource(bytes);
      await expect(readSafetensors(source)).rejects.toMatchObject({ code: 'CORRUPT_FILE' });
      // The second span reads the first bytes, for advice in the error.
      expect(source.spans).toEqual([
        [0, 8],
        [0, bytes.length],
      ]);
    }
  });
});
