import { open, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { MAX_HEADER_BYTES, MAX_TENSOR_COUNT } from '../limits.js';
import { openSafetensors } from './open-safetensors.js';

const folder = temporaryFolder();
const GIB = 1024 ** 3;
setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function usedBytes(): number {
  const { heapUsed, external, arrayBuffers } = process.memoryUsage();
  return heapUsed + external + arrayBuffers;
}

/** A file of `rows` rows of 1 MiB; sparse, so that it takes no disk space. */
async function sparseFile(name: string, rows: number) {
  const dataBytes = rows * 1024 * 1024;
  const header = `{"a":{"dtype":"U8","shape":[${rows},1048576],"data_offsets":[0,${dataBytes}]}}`;
  const path = join(folder, `${name}.safetensors`);
  const start = rawSafetensors(header);
  await writeFile(path, start);
  await truncate(path, start.length + dataBytes);
  return { path, dataStart: start.length, dataBytes };
}

describe('files larger than memory', () => {
  it('opens 16 GB and reads its end with less than 50 MB', async () => {
    const { path, dataStart, dataBytes } = await sparseFile('wide', 16 * 1024);
    const file = await open(path, 'r+');
    await file.write(Uint8Array.of(7), 0, 1, dataStart + dataBytes - 1);
    await file.close();
    collectGarbage();
    const before = usedBytes();
    const tensor = (await openSafetensors(path)).tensors.get('a')!;
    const last = await tensor.readRows(16 * 1024 - 1, 16 * 1024);
    expect(usedBytes() - before).toBeLessThan(50e6);
    expect(tensor.range.sizeBytes).toBe(16 * GIB);
    expect(last.at(-1)).toBe(7);
  });

  it('opens a terabyte', async () => {
    const { path } = await sparseFile('vast', 1024 * 1024);
    const tensor = (await openSafetensors(path)).tensors.get('a')!;
    expect(tensor.slice(1024 * 1024 - 1, 1024 * 1024).range.sizeBytes).toBe(1024 * 1024);
  });
});

describe('limits of the header', () => {
  /** Opens a header of `count` tensors of one byte; returns the number of tensors, and the memory retained per tensor. */
  async function manyTensors(count: number) {
    const parts: string[] = [];
    for (let index = 0; index < count; index++) {
      parts.push(`"t${index}":{"dtype":"U8","shape":[1],"data_offsets":[${index},${index + 1}]}`);
    }
    const file = rawSafetensors(`{${parts.join(',')}}`, new Uint8Array(count));
    parts.length = 0;
    collectGarbage();
    const before = usedBytes();
    const { tensors } = await openSafetensors(file);
    collectGarbage();
    return { size: tensors.size, bytesPerTensor: (usedBytes() - before) / count };
  }

  it('accepts a million tensors, and keeps a few hundred bytes for each', async () => {
    const many = await manyTensors(MAX_TENSOR_COUNT);
    expect(many.size).toBe(MAX_TENSOR_COUNT);
    expect(many.bytesPerTensor).toBeLessThan(600);
  });

  it('limits the number of tensors, and accepts more if the caller allows it', async () => {
    const entry = (name: string) => `"${name}":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}`;
    const file = rawSafetensors(`{${['a', 'b', 'c'].map(entry).join(',')}}`);
    await expect(openSafetensors(file, { maxTensorCount: 2 })).rejects.toMatchObject({
      rule: 'TooManyTensors',
    });
    expect((await openSafetensors(file, { maxTensorCount: 3 })).tensors.size).toBe(3);
  });

  it('opens a header of 132 MB only if the caller allows it', async () => {
    const header = new Uint8Array(132_000_000).fill(0x20);
    header.set(new TextEncoder().encode('{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}}'));
    const file = rawSafetensors(header, new Uint8Array(1));
    const refused = openSafetensors(file);
    await expect(refused).rejects.toMatchObject({ rule: 'HeaderTooLarge' });
    await expect(refused).rejects.toThrow(`${MAX_HEADER_BYTES}; if you trust the file, raise maxHeaderBytes`);
    expect((await openSafetensors(file, { maxHeaderBytes: 132_000_000 })).tensors.size).toBe(1);
    await expect(openSafetensors(file, { maxHeaderBytes: 131_999_999 })).rejects.toMatchObject({
      rule: 'HeaderTooLarge',
    });
  });

  it('keeps metadata that are not strings only if the caller allows it', async () => {
    const file = rawSafetensors('{"__metadata__":{"a":{"b": [1]},"c":"d","e":null}}');
    await expect(openSafetensors(file)).rejects.toMatchObject({ rule: 'InvalidHeader' });
    expect((await openSafetensors(file, { metadataValues: 'lenient' })).metadata).toEqual(
      new Map([
        ['a', '{"b": [1]}'],
        ['c', 'd'],
        ['e', 'null'],
      ]),
    );
  });
});
