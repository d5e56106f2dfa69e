import { openAsBlob } from 'node:fs';
import { open, readFile, rm, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { openSafetensors, type SafetensorsInput } from '../safetensors/open-safetensors.js';

const folder = temporaryFolder();
const HEADER = '{"a":{"dtype":"U8","shape":[3,2],"data_offsets":[0,6]}}';
const FILE = rawSafetensors(HEADER, Uint8Array.from([1, 2, 3, 4, 5, 6]));

async function pathOf(name: string, bytes = FILE): Promise<string> {
  const path = join(folder, `${name}.safetensors`);
  await writeFile(path, bytes);
  return path;
}

async function secondRow(input: SafetensorsInput) {
  return [...(await (await openSafetensors(input)).tensors.get('a')!.readRows(1, 2))];
}

describe('every kind of source', () => {
  it('gives the same rows', async () => {
    const path = await pathOf('same');
    const shared = new SharedArrayBuffer(FILE.length);
    new Uint8Array(shared).set(FILE);
    const file = await open(path);
    const inside = new Uint8Array([9, ...FILE, 9]).subarray(1, -1);
    const inputs = [
      path,
      pathToFileURL(path),
      file,
      FILE,
      inside,
      FILE.slice().buffer,
      shared,
      new Blob([FILE]),
    ];
    for (const input of inputs) expect(await secondRow(input)).toEqual([3, 4]);
    await file.close();
  });

  it('finds the same fault in a truncated file', async () => {
    const bytes = FILE.slice(0, -2);
    const file = await open(await pathOf('short', bytes));
    for (const input of [file, bytes, new Blob([bytes])]) {
      await expect(openSafetensors(input)).rejects.toMatchObject({ rule: 'MetadataIncompleteBuffer' });
    }
    await file.close();
  });

  it('refuses everything else', async () => {
    for (const input of [
      7,
      null,
      {},
      [FILE],
      'https://example.org/a.safetensors',
      new URL('ftp://example.org/a'),
    ]) {
      await expect(openSafetensors(input as SafetensorsInput)).rejects.toMatchObject({
        code: 'INVALID_ARGUMENT',
      });
    }
  });
});

describe('FileHandle', () => {
  it('stays open at its position', async () => {
    const file = await open(await pathOf('position'));
    await file.read(new Uint8Array(4), 0, 4);
    await secondRow(file);
    expect((await file.read(new Uint8Array(4), 0, 4)).buffer[0]).toBe(FILE[4]);
    await file.close();
  });

  it('is refused if closed, before or after opening', async () => {
    const file = await open(await pathOf('closed'));
    const { tensors } = await openSafetensors(file);
    await file.close();
    await expect(tensors.get('a')!.read()).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await expect(openSafetensors(file)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
  });

  it('is refused if it belongs to a folder', async () => {
    const file = await open(folder);
    await expect(openSafetensors(file)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await file.close();
  });

  it('continues to read an unlinked file, and detects a change', async () => {
    const path = await pathOf('removed');
    const file = await open(path);
    const tensor = (await openSafetensors(file)).tensors.get('a')!;
    await rm(path);
    expect([...(await tensor.readRows(2, 3))]).toEqual([5, 6]);
    await file.utimes(new Date(0), new Date(0));
    await expect(tensor.read()).rejects.toMatchObject({ rule: 'FileChanged' });
    await file.close();
  });
});

describe('memory', () => {
  it('returns copies, and detects that the buffer was detached', async () => {
    const buffer = FILE.slice().buffer;
    const tensor = (await openSafetensors(buffer)).tensors.get('a')!;
    (await tensor.read()).fill(0);
    expect([...(await tensor.readRows(0, 1))]).toEqual([1, 2]);
    structuredClone(buffer, { transfer: [buffer] });
    await expect(tensor.read()).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule: 'FileChanged' });
  });
});

describe('Blob', () => {
  it('reads only the requested parts of the underlying file, and detects a change', async () => {
    const path = await pathOf('blob');
    const tensor = (await openSafetensors(await openAsBlob(path))).tensors.get('a')!;
    expect([...(await tensor.readRows(0, 1))]).toEqual([1, 2]);
    await writeFile(path, new Uint8Array(3));
    await expect(tensor.read()).rejects.toMatchObject({ code: 'FILE_ACCESS' });
  });

  it('appears with its name in messages', async () => {
    const bytes = FILE.slice(0, -2);
    const file = new File([bytes], 'chosen.safetensors');
    await expect(openSafetensors(file)).rejects.toMatchObject({ path: 'chosen.safetensors' });
  });
});

describe('a path', () => {
  it.each(['rewritten', 'replaced', 'truncated'])('detects that the file was %s', async (how) => {
    const path = await pathOf(how);
    const tensor = (await openSafetensors(path)).tensors.get('a')!;
    const before = await readFile(path);
    if (how === 'replaced') await rm(path);
    await writeFile(path, how === 'truncated' ? before.subarray(0, -1) : before);
    if (how === 'rewritten') await utimes(path, new Date(1), new Date(1));
    await expect(tensor.read()).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule: 'FileChanged' });
  });
});
