import { copyFile, mkdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { writeTensors } from '../../test/raw-safetensors.js';
import { INDEX_FILE, openShards } from './shards.js';

const root = temporaryFolder();
let count = 0;

async function folderOf(files: Readonly<Record<string, readonly string[]>>): Promise<string> {
  const folder = join(root, String(count++));
  await mkdir(folder);
  for (const [file, names] of Object.entries(files)) {
    await writeTensors(join(folder, file), Object.fromEntries(names.map((name) => [name, [2]])));
  }
  return folder;
}

async function writeIndex(folder: string, weightMap: unknown): Promise<void> {
  await writeFile(join(folder, INDEX_FILE), JSON.stringify({ metadata: {}, weight_map: weightMap }));
}

const names = async (folder: string) => (await openShards(folder)).tensors.map(({ name }) => name).sort();

describe('without an index', () => {
  it('takes model.safetensors alone, else a numbered set, else everything', async () => {
    expect(
      await names(await folderOf({ 'model.safetensors': ['a'], 'expected.safetensors': ['b'] })),
    ).toEqual(['a']);
    const numbered = {
      'model-00001-of-00002.safetensors': ['a'],
      'model-00002-of-00002.safetensors': ['b'],
      'other.safetensors': ['c'],
    };
    expect(await names(await folderOf(numbered))).toEqual(['a', 'b']);
    expect(await names(await folderOf({ 'x.safetensors': ['a'], 'y.safetensors': ['b'] }))).toEqual([
      'a',
      'b',
    ]);
  });

  it('refuses an incomplete set, two sets, duplicate tensors and an empty folder', async () => {
    const refused = async (files: Readonly<Record<string, readonly string[]>>, expected: object) =>
      expect(openShards(await folderOf(files))).rejects.toMatchObject(expected);
    await refused({ 'model-00002-of-00002.safetensors': ['b'] }, { rule: 'ShardMissing' });
    await refused(
      { 'm-00001-of-00001.safetensors': ['a'], 'n-00001-of-00001.safetensors': ['b'] },
      { rule: 'IndexMismatch' },
    );
    await refused({ 'x.safetensors': ['a'], 'y.safetensors': ['a'] }, { rule: 'DuplicateKey' });
    await refused({}, { code: 'FILE_ACCESS' });
  });
});

describe('with an index', () => {
  it('takes the files that it names, and all of their tensors', async () => {
    const folder = await folderOf({
      'x.safetensors': ['a', 'b'],
      'y.safetensors': ['c'],
      'z.safetensors': ['d'],
    });
    await writeIndex(folder, { a: 'x.safetensors', c: 'y.safetensors' });
    expect(await names(folder)).toEqual(['a', 'b', 'c']);
  });

  it.each([
    '../x.safetensors',
    '/etc/x.safetensors',
    'C:\\x.safetensors',
    'C:x.safetensors',
    '\\\\host\\x.safetensors',
    'sub/x.safetensors',
    'https://host/x.safetensors',
    'x.safetensors\0',
    'passwd',
    '',
  ])('refuses the shard name %j', async (name) => {
    const folder = await folderOf({ 'x.safetensors': ['a'] });
    await writeIndex(folder, { a: name });
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'UnsafeShardName' });
  });

  it('refuses a missing shard and a tensor that is not where it should be', async () => {
    const folder = await folderOf({ 'x.safetensors': ['a'] });
    await writeIndex(folder, { a: 'y.safetensors' });
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'ShardMissing' });
    await writeIndex(folder, { b: 'x.safetensors' });
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'IndexMismatch' });
  });

  it('refuses an invalid index', async () => {
    const folder = await folderOf({ 'x.safetensors': ['a'] });
    for (const weightMap of [undefined, [], { a: 7 }]) {
      await writeIndex(folder, weightMap);
      await expect(openShards(folder)).rejects.toMatchObject({ code: 'INVALID_CONFIG' });
    }
    await writeFile(join(folder, INDEX_FILE), '{');
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'InvalidJson' });
    await writeFile(join(folder, INDEX_FILE), 'version https://git-lfs.github.com/spec/v1\n');
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'NotDownloaded' });
  });

  it('refuses a link out of the folder, but follows one into the blobs of the same repository', async () => {
    const outside = await folderOf({ 'x.safetensors': ['a'] });
    const repository = join(root, 'models--a--b');
    const snapshot = join(repository, 'snapshots', 'rev');
    await mkdir(snapshot, { recursive: true });
    await mkdir(join(repository, 'blobs'));
    await copyFile(join(outside, 'x.safetensors'), join(repository, 'blobs', 'sha'));
    await symlink('../../blobs/sha', join(snapshot, 'x.safetensors'));
    await writeIndex(snapshot, { a: 'x.safetensors' });
    expect(await names(snapshot)).toEqual(['a']);

    const folder = await folderOf({});
    await symlink(join(outside, 'x.safetensors'), join(folder, 'x.safetensors'));
    // Both when found in the folder and when named by an index.
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'UnsafeShardName' });
    await writeIndex(folder, { a: 'x.safetensors' });
    await expect(openShards(folder)).rejects.toMatchObject({ rule: 'UnsafeShardName' });
    await symlink(outside, join(root, 'linked'));
    expect(await names(join(root, 'linked'))).toEqual(['a']);
  });
});

it('stops when aborted', async () => {
  const folder = await folderOf({ 'model.safetensors': ['a'] });
  const reason = new RangeError('enough');
  await expect(openShards(folder, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
});

it('opens headers within the limits of the caller, with and without an index', async () => {
  const folder = await folderOf({ 'model.safetensors': ['a', 'b'] });
  const limited = () => openShards(folder, { header: { maxTensorCount: 1 } });
  await expect(limited()).rejects.toMatchObject({ rule: 'TooManyTensors' });
  await writeIndex(folder, { a: 'model.safetensors', b: 'model.safetensors' });
  await expect(limited()).rejects.toMatchObject({ rule: 'TooManyTensors' });
});
