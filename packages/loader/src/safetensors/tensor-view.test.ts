import { utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors, writeTensors } from '../../test/raw-safetensors.js';
import { openSafetensors } from './open-safetensors.js';

const folder = temporaryFolder();

async function view(name: string, shape: readonly number[]) {
  const path = join(folder, `${name}.safetensors`);
  await writeTensors(path, { first: [3], [name]: shape });
  return (await openSafetensors(path)).tensors.get(name)!;
}

describe('TensorView', () => {
  it('reads everything, some rows, or chunks', async () => {
    const tensor = await view('matrix', [4, 2]);
    expect([...(await tensor.readFloat32())]).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect([...new Float32Array((await tensor.readRows(1, 3)).buffer)]).toEqual([5, 6, 7, 8]);
    expect(await tensor.readRows(4, 4)).toHaveLength(0);
    const pieces: number[] = [];
    for await (const piece of tensor.chunks(12)) pieces.push(piece.length);
    expect(pieces).toEqual([12, 12, 8]);
  });

  it('fills a buffer of the caller at any byte offset', async () => {
    const tensor = await view('into', [4, 2]);
    const buffer = new Uint8Array(12).fill(9);
    await tensor.readInto(buffer.subarray(4), 8);
    expect([...buffer.subarray(0, 4)]).toEqual([9, 9, 9, 9]);
    expect([...new Float32Array(buffer.slice(4).buffer)]).toEqual([5, 6]);
    for (const begin of [21, -1, 0.5]) {
      await expect(tensor.readInto(buffer, begin)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    }
  });

  it('reads scalars and empty tensors', async () => {
    expect([...(await (await view('scalar', [])).readFloat32())]).toEqual([3]);
    expect(await (await view('empty', [2, 0])).read()).toHaveLength(0);
  });

  it('reads a tensor that is not aligned in its file', async () => {
    const path = join(folder, 'odd.safetensors');
    const header =
      '{"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"F32","shape":[1],"data_offsets":[1,5]}}';
    await writeFile(path, rawSafetensors(header, Uint8Array.from([9, 0, 0, 0x80, 0x3f])));
    expect([...(await (await openSafetensors(path)).tensors.get('b')!.readFloat32())]).toEqual([1]);
  });

  it('slices rows, and slices of slices, without reading', async () => {
    const tensor = await view('sliced', [4, 2]);
    const middle = tensor.slice(1, 4).slice(1, 2);
    expect(middle).toMatchObject({ name: 'sliced', shape: [1, 2], elementCount: 2 });
    expect(middle.range).toMatchObject({ offsetBytes: tensor.range.offsetBytes + 16, sizeBytes: 8 });
    expect([...(await middle.readFloat32())]).toEqual([7, 8]);
    expect((await view('none', [0, 2])).slice(0, 0).shape).toEqual([0, 2]);
    expect(() => middle.slice(0, 2)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it('slices packed rows only at byte boundaries', async () => {
    const header = '{"p":{"dtype":"F4","shape":[4,3],"data_offsets":[0,6]}}';
    const data = Uint8Array.from([0x21, 0x43, 0x65, 0x07, 0x10, 0x32]);
    const tensor = (await openSafetensors(rawSafetensors(header, data))).tensors.get('p')!;
    expect([...(await tensor.slice(2, 4).readFloat32())]).toEqual([6, 0, 0, 0.5, 1, 1.5]);
    expect(() => tensor.slice(1, 2)).toThrow(expect.objectContaining({ code: 'INVALID_ARGUMENT' }));
  });

  it.each([
    [-1, 1],
    [0, 5],
    [2, 1],
    [0.5, 1],
  ])('refuses rows %d to %d of 4', async (begin, end) => {
    const tensor = await view('rows', [4, 2]);
    await expect(tensor.readRows(begin, end)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
    await expect(tensor.readBytes(begin * 7, end * 7)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT' });
  });

  it('detects that the file was changed', async () => {
    const tensor = await view('changed', [2]);
    await utimes(tensor.range.path, new Date(0), new Date(0));
    await expect(tensor.read()).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule: 'FileChanged' });
  });
});
