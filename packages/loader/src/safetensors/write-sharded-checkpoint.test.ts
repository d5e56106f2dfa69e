import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { openShards } from '../checkpoint/shards.js';
import type { TensorSource } from './tensor-group.js';
import { writeShardedCheckpoint } from './write-sharded-checkpoint.js';

const folder = temporaryFolder();

function bytes(name: string, size: number): TensorSource {
  return { name, dtype: 'U8', shape: [size], chunks: () => [new Uint8Array(size).fill(size)] };
}

describe('writeShardedCheckpoint', () => {
  it('splits by size and writes an index that openShards follows', async () => {
    const directory = join(folder, 'new', 'split');
    const tensors = [bytes('a', 6), bytes('b', 5), bytes('c', 5), bytes('d', 20), bytes('e', 0)];
    await writeShardedCheckpoint(directory, tensors, { maxShardBytes: 10 });
    const index = JSON.parse(await readFile(join(directory, 'model.safetensors.index.json'), 'utf8'));
    expect(index).toEqual({
      metadata: { total_size: 36 },
      weight_map: {
        a: 'model-00001-of-00004.safetensors',
        b: 'model-00002-of-00004.safetensors',
        c: 'model-00002-of-00004.safetensors',
        d: 'model-00003-of-00004.safetensors',
        e: 'model-00004-of-00004.safetensors',
      },
    });
    const { tensors: read } = await openShards(directory);
    expect(read.map(({ name, shape }) => [name, shape[0]])).toEqual(
      tensors.map(({ name, shape }) => [name, shape[0]]),
    );
  });

  it('writes one file if everything fits', async () => {
    const directory = join(folder, 'one');
    await writeShardedCheckpoint(directory, [bytes('a', 6)], { maxShardBytes: 10 });
    expect((await readdir(directory)).sort()).toEqual(['model.safetensors', 'model.safetensors.index.json']);
  });

  it('leaves no shard after an abort', async () => {
    const directory = join(folder, 'aborted');
    const controller = new AbortController();
    const last: TensorSource = {
      ...bytes('b', 9),
      chunks: () => {
        controller.abort();
        return [new Uint8Array(9)];
      },
    };
    const options = { maxShardBytes: 10, signal: controller.signal };
    await expect(writeShardedCheckpoint(directory, [bytes('a', 9), last], options)).rejects.toMatchObject({
      name: 'AbortError',
    });
    expect(await readdir(directory)).toEqual([]);
  });

  it('refuses equal names in different shards and an impossible size', async () => {
    const directory = join(folder, 'refused');
    const tensors = [bytes('a', 9), bytes('a', 9)];
    for (const maxShardBytes of [10, 0, Number.NaN]) {
      await expect(writeShardedCheckpoint(directory, tensors, { maxShardBytes })).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});
