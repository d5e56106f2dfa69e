import { execFile } from 'node:child_process';
import { mkdtemp, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { DType } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { openSafetensors } from './open-safetensors.js';
import type { TensorSource } from './tensor-group.js';
import { writeSafetensors } from './write-safetensors.js';

const folder = temporaryFolder();

function source(
  name: string,
  dtype: DType,
  shape: readonly number[],
  ...chunks: readonly number[][]
): TensorSource {
  return { name, dtype, shape, chunks: () => chunks.map((chunk) => Uint8Array.from(chunk)) };
}

describe('writeSafetensors', () => {
  it('writes what openSafetensors reads', async () => {
    const path = join(folder, 'round-trip.safetensors');
    const progress: number[] = [];
    const names = ['__proto__', '7', 'a', '☃"\\\n', ''];
    await writeSafetensors(
      path,
      names.map((name, index) => source(name, 'U8', [2, 1], [index], [index + 1])),
      { metadata: { format: 'pt' }, onProgress: ({ writtenBytes }) => progress.push(writtenBytes) },
    );
    const file = await openSafetensors(path);
    expect(file.metadata).toEqual(new Map([['format', 'pt']]));
    expect([...file.tensors.keys()].sort()).toEqual([...names].sort());
    for (const [index, name] of names.entries()) {
      expect([...(await file.tensors.get(name)!.read())]).toEqual([index, index + 1]);
    }
    expect(progress.at(-1)).toBe((await readFile(path)).length);
  });

  it('aligns every tensor for its type', async () => {
    const path = join(folder, 'aligned.safetensors');
    await writeSafetensors(path, [
      source('a', 'U8', [3], [1, 2, 3]),
      source('b', 'BF16', [1], [1, 2]),
      source('c', 'F32', [1], [1, 2, 3, 4]),
      source('d', 'I64', [1], [1, 2, 3, 4, 5, 6, 7, 8]),
      source('e', 'F32', [0]),
    ]);
    const bytes = { a: 1, b: 2, c: 4, d: 8, e: 4 };
    const { tensors } = await openSafetensors(path);
    for (const [name, size] of Object.entries(bytes))
      expect(tensors.get(name)!.range.offsetBytes % size).toBe(0);
  });

  it('accepts asynchronous sources', async () => {
    const path = join(folder, 'async.safetensors');
    const chunks = async function* () {
      yield Uint8Array.of(1);
      yield Uint8Array.of(2);
    };
    await writeSafetensors(path, [{ name: 'a', dtype: 'U8', shape: [2], chunks }]);
    expect([...(await (await openSafetensors(path)).tensors.get('a')!.read())]).toEqual([1, 2]);
  });

  it('refuses names, shapes and metadata that cannot be stored', async () => {
    const path = join(folder, 'refused.safetensors');
    const ok = source('a', 'U8', [1], [1]);
    for (const tensors of [
      [source('__metadata__', 'U8', [1], [1])],
      [ok, ok],
      [source('\ud800', 'U8', [1], [1])],
      [source('a', 'U8', [1.5], [1])],
      [source('a', 'U8', [-1], [1])],
      [source('a', 'F4', [1], [1])],
      [source('a', 'I4' as DType, [1], [1])],
      [source('a', 'U8', [2 ** 53, 2 ** 53], [1])],
    ]) {
      await expect(writeSafetensors(path, tensors)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
    const metadata = { a: 1 } as unknown as Record<string, string>;
    await expect(writeSafetensors(path, [ok], { metadata })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
    });
  });

  describe('leaves no new file and does not touch the old one', () => {
    async function expectNothingChanged(
      write: (path: string) => Promise<void>,
      expected: object,
    ): Promise<void> {
      const own = await mkdtemp(join(folder, 'failed-'));
      const path = join(own, 'x.safetensors');
      await writeFile(path, 'old');
      await expect(write(path)).rejects.toMatchObject(expected);
      expect(await readdir(own)).toEqual(['x.safetensors']);
      expect(await readFile(path, 'utf8')).toBe('old');
    }

    it.each([
      ['too few bytes', [[1]]],
      ['too many bytes', [[1, 2], [3]]],
    ])('after %s', async (_, chunks) => {
      await expectNothingChanged((path) => writeSafetensors(path, [source('a', 'U8', [2], ...chunks)]), {
        code: 'SHAPE_MISMATCH',
        argument: 'a',
      });
    });

    it('after a failing source', async () => {
      const failure = new RangeError('source');
      const chunks = function* () {
        yield Uint8Array.of(1);
        throw failure;
      };
      await expectNothingChanged(
        (path) => writeSafetensors(path, [{ name: 'a', dtype: 'U8', shape: [2], chunks }]),
        failure,
      );
    });

    it('after an abort, with its reason', async () => {
      const controller = new AbortController();
      const chunks = function* () {
        yield Uint8Array.of(1);
        controller.abort();
        yield Uint8Array.of(2);
      };
      const { signal } = controller;
      await expectNothingChanged(
        (path) => writeSafetensors(path, [{ name: 'a', dtype: 'U8', shape: [2], chunks }], { signal }),
        { name: 'AbortError' },
      );
    });
  });

  it('reports a missing folder', async () => {
    const path = join(folder, 'none', 'x.safetensors');
    await expect(writeSafetensors(path, [])).rejects.toMatchObject({ code: 'FILE_ACCESS', path });
  });

  it.skipIf(process.platform === 'win32')('reports a full file system', async () => {
    const script = `
      import { writeSafetensors } from '@markbase/loader';
      const chunks = () => [new Uint8Array(200_000)];
      const source = { name: 'a', dtype: 'U8', shape: [200_000], chunks };
      await writeSafetensors(process.argv[1], [source]).catch((error) => console.log(error.code, error.reason));
    `;
    const path = join(folder, 'limited.safetensors');
    // A file size limit of 64 blocks simulates a full disk.
    const command = 'ulimit -f 64 && exec "$0" --input-type=module -e "$1" "$2"';
    const { stdout } = await promisify(execFile)('sh', ['-c', command, process.execPath, script, path], {
      cwd: join(import.meta.dirname, '..', '..'),
    });
    expect(stdout.trim()).toBe('FILE_ACCESS the file system does not allow a file this large');
    expect((await readdir(folder)).filter((name) => name.includes('limited'))).toEqual([]);
  });
});
