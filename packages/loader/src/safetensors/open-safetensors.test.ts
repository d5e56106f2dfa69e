import { open, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CorruptFileError } from '@markbase/core';
import { describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { MAX_HEADER_BYTES } from '../limits.js';
import { openSafetensors } from './open-safetensors.js';

const folder = temporaryFolder();
let count = 0;

async function fileOf(bytes: Uint8Array): Promise<string> {
  const path = join(folder, `${count++}.safetensors`);
  await writeFile(path, bytes);
  return path;
}

async function openRaw(header: string | Uint8Array, dataBytes = 0) {
  return openSafetensors(await fileOf(rawSafetensors(header, new Uint8Array(dataBytes))));
}

function entry(
  dtype: string,
  shape: readonly (number | bigint)[],
  offsets: readonly (number | bigint)[],
): string {
  return `{"dtype":"${dtype}","shape":[${shape.join(',')}],"data_offsets":[${offsets.join(',')}]}`;
}

/** Expects a `CorruptFileError` with this rule, and returns its reason. */
async function refusal(attempt: Promise<unknown>, rule: string): Promise<string> {
  const error = (await attempt.then(
    () => null,
    (reason: unknown) => reason,
  )) as CorruptFileError | null;
  expect(error).toMatchObject({ code: 'CORRUPT_FILE', rule });
  return error!.reason;
}

describe('the length field before the header', () => {
  it.each([0, 1, 7])('refuses a file of %i bytes', async (size) => {
    await refusal(openSafetensors(await fileOf(new Uint8Array(size))), 'HeaderTooSmall');
  });

  it('refuses an empty header', async () => {
    await refusal(openRaw(''), 'InvalidHeader');
  });

  it.each(['18446744073709551615', '9223372036854775808', '9007199254740993', String(MAX_HEADER_BYTES + 1)])(
    'refuses a header of %s bytes before reading it',
    async (length) => {
      const bytes = rawSafetensors('{}');
      new DataView(bytes.buffer).setBigUint64(0, BigInt(length), true);
      await refusal(openSafetensors(await fileOf(bytes)), 'HeaderTooLarge');
    },
  );

  it('accepts a header of exactly the limit, like the reference reader', async () => {
    const path = await fileOf(rawSafetensors('{}'));
    const file = await open(path, 'r+');
    const length = new Uint8Array(8);
    new DataView(length.buffer).setBigUint64(0, BigInt(MAX_HEADER_BYTES), true);
    await file.write(length, 0, 8, 0);
    await file.close();
    // Sparse: zeros follow the braces. The error about them proves that the length was accepted.
    await truncate(path, 8 + MAX_HEADER_BYTES);
    expect(await refusal(openSafetensors(path), 'InvalidHeader')).toContain('NUL');
  });

  it('refuses a header that extends past the end of the file', async () => {
    const bytes = rawSafetensors('{}');
    new DataView(bytes.buffer).setBigUint64(0, 12n, true);
    expect(await refusal(openSafetensors(await fileOf(bytes)), 'InvalidHeaderLength')).toContain('10 bytes');
  });
});

describe('files of another kind', () => {
  it.each([
    ['version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 12\n', 'git lfs pull'],
    ['<!DOCTYPE html><html><body>404</body></html>', 'web page'],
    ['\x89PNG\r\n\x1a\n0000000000000000', 'picture'],
    ['GGUF\x03\x00\x00\x00\x00\x00\x00\x00\x00', 'GGUF'],
    ['PK\x03\x04\x00\x00\x00\x00\x00\x00\x00\x00', 'PyTorch'],
  ])('identifies %j', async (text, advice) => {
    const bytes = Uint8Array.from(text, (character) => character.charCodeAt(0));
    expect(await refusal(openSafetensors(await fileOf(bytes)), 'NotSafetensors')).toContain(advice);
    expect(await refusal(openRaw(bytes), 'NotSafetensors')).toContain(advice);
  });

  it('refuses a folder and a missing file', async () => {
    await expect(openSafetensors(folder)).rejects.toMatchObject({ code: 'FILE_ACCESS' });
    await expect(openSafetensors(join(folder, 'none'))).rejects.toMatchObject({
      code: 'FILE_ACCESS',
      reason: 'it does not exist',
    });
  });
});

describe('the text of the header', () => {
  it('refuses invalid UTF-8 and a byte order mark', async () => {
    await refusal(openRaw(Uint8Array.from([0x7b, 0x22, 0xff, 0x22, 0x7d])), 'InvalidHeader');
    await refusal(openRaw(Uint8Array.from([0xef, 0xbb, 0xbf, 0x7b, 0x7d])), 'InvalidHeader');
  });

  it('accepts white space before, after and inside', async () => {
    const spaced =
      ' \n\t\r{ "a" :\n{ "dtype" : "U8" , "shape" : [ 1 , 2 ] ,\t"data_offsets" : [ 0 , 2 ] } }   ';
    const wide = `{"a":${' '.repeat(40)}{"dtype":"U8","shape":[1,2],"data_offsets":[0,2]}}`;
    for (const header of [spaced, wide])
      expect((await openRaw(header, 2)).tensors.get('a')!.shape).toEqual([1, 2]);
  });

  it('accepts the sorted keys of MLX', async () => {
    const { tensors } = await openRaw('{"a":{"data_offsets":[0,4],"dtype":"BF16","shape":[2]}}', 4);
    expect(tensors.get('a')).toMatchObject({ dtype: 'BF16', shape: [2], elementCount: 2 });
  });

  it.each([
    '{}\0\0',
    '[]',
    '7',
    '{',
    '{"a"',
    '{"a":',
    '{"a":{',
    '{"a',
    '{"a\\',
    '{,}',
    '{} {}',
    "{'a':1}",
    'nul',
    '{"\n":1}',
    '{"\\x":1}',
    '{"\\ud800":1}',
  ])('refuses %j', async (header) => {
    await refusal(openRaw(header), 'InvalidHeader');
  });

  it('reports the position of the error', async () => {
    await expect(openRaw('{"a":!')).rejects.toMatchObject({ offsetBytes: 13 });
  });

  it('refuses unbounded nesting in an unknown field', async () => {
    const deep = `{"a":{"extra":${'['.repeat(100_000)}`;
    await refusal(openRaw(deep), 'InvalidHeader');
  });
});

describe('names', () => {
  const usual = entry('U8', [1], [0, 1]);

  it('refuses the same name twice, in every spelling', async () => {
    const escaped = usual.replace('"U8"', '"\\u00558"');
    for (const [first, second] of [
      [usual, usual],
      [escaped, escaped],
      [usual, escaped],
      [escaped, usual],
    ]) {
      await refusal(openRaw(`{"a":${first},"a":${second}}`, 1), 'DuplicateKey');
      await refusal(openRaw(`{"a":${first},"\\u0061":${second}}`, 1), 'DuplicateKey');
    }
    await refusal(
      openRaw('{"a":{"dtype":"U8","dtype":"U8","shape":[0],"data_offsets":[0,0]}}'),
      'DuplicateKey',
    );
    await refusal(openRaw('{"__metadata__":{},"__metadata__":{}}'), 'DuplicateKey');
    await refusal(openRaw('{"__metadata__":{"a":"1","a":"1"}}'), 'DuplicateKey');
  });

  it('accepts names that are special in JavaScript, empty, strange or long', async () => {
    const names = [
      '__proto__',
      'constructor',
      'toString',
      '',
      'a/../b',
      '\0',
      '☃',
      'x'.repeat(10_000_000),
      '7',
    ];
    const entries = names.map(
      (name, index) => `${JSON.stringify(name)}:${entry('U8', [1], [index, index + 1])}`,
    );
    const { tensors } = await openRaw(`{${entries.join(',')}}`, names.length);
    expect([...tensors.keys()]).toEqual(names);
  });
});

describe('__metadata__', () => {
  it('accepts strings, null, an empty object, and a file without tensors', async () => {
    expect((await openRaw('{"__metadata__":{"format":"pt"}}')).metadata).toEqual(new Map([['format', 'pt']]));
    for (const header of ['{"__metadata__":null}', '{"__metadata__":{}}', '{}']) {
      expect(await openRaw(header)).toMatchObject({ metadata: new Map(), tensors: new Map() });
    }
  });

  it('refuses other values', async () => {
    await refusal(openRaw('{"__metadata__":{"a":1}}'), 'InvalidHeader');
    await refusal(openRaw('{"__metadata__":"a"}'), 'InvalidHeader');
    await refusal(openRaw(`{"__metadata__":${entry('U8', [1], [0, 1])}}`, 1), 'InvalidHeader');
  });
});

describe('entries', () => {
  it.each(['dtype', 'shape', 'data_offsets'])('refuses an entry without %s', async (field) => {
    const fields = { dtype: 'U8', shape: [1], data_offsets: [0, 1] };
    const header = JSON.stringify({ a: { ...fields, [field]: undefined } });
    expect(await refusal(openRaw(header, 1), 'InvalidHeaderDeserialization')).toContain(field);
  });

  it('accepts unknown fields of any kind', async () => {
    const extra = { x: [1, { y: null }, true, false, -1.5e3, 'text'], z: {} };
    const header = JSON.stringify({ a: { extra, dtype: 'U8', shape: [1], data_offsets: [0, 1] } });
    expect((await openRaw(header, 1)).tensors.size).toBe(1);
  });

  it.each(['I4', 'F5', 'bf16', ''])('refuses the dtype %j', async (dtype) => {
    await refusal(openRaw(`{"a":${entry(dtype, [1], [0, 1])}}`, 1), 'UnknownDtype');
    await refusal(openRaw(`{"a":{"shape":[1],"dtype":"${dtype}","data_offsets":[0,1]}}`, 1), 'UnknownDtype');
  });

  it.each([[[]], [[0]], [[0, 1, 2]]])('refuses the offsets %j', async (offsets) => {
    await refusal(openRaw(`{"a":${entry('U8', [1], offsets)}}`, 1), 'InvalidHeaderDeserialization');
  });

  it('refuses an end before the beginning', async () => {
    await refusal(openRaw(`{"a":${entry('U8', [1], [1, 0])}}`, 1), 'InvalidOffset');
  });

  it.each(['-1', '1.0', '1e0', '01', '"1"', 'null', '[1]'])('refuses the length %s', async (length) => {
    const header = `{"a":{"dtype":"U8","shape":[${length}],"data_offsets":[0,1]}}`;
    await refusal(openRaw(header, 1), 'InvalidHeaderDeserialization');
  });

  it('never rounds a large number', async () => {
    await refusal(openRaw(`{"a":${entry('U8', [2n ** 53n], [0, 2n ** 53n])}}`), 'ValidationOverflow');
    await refusal(openRaw(`{"a":${entry('U8', [1], [2n ** 53n, 2n ** 53n + 1n])}}`), 'ValidationOverflow');
    await refusal(openRaw(`{"a":${entry('U8', [10n ** 400n], [0, 1])}}`), 'ValidationOverflow');
  });

  it.each(['2,18446744073709551614', '2,9223372036854775807', '1073741824,1073741824', '4503599627370496'])(
    'refuses the shape [%s], whose size cannot be exact',
    async (shape) => {
      const header = `{"a":{"dtype":"F32","shape":[${shape}],"data_offsets":[0,4]}}`;
      await refusal(openRaw(header, 4), 'ValidationOverflow');
    },
  );

  it('refuses a shape whose size differs from the span', async () => {
    await refusal(openRaw(`{"a":${entry('F32', [1], [0, 8])}}`, 8), 'TensorInvalidInfo');
    await refusal(openRaw(`{"a":${entry('F32', [3], [0, 8])}}`, 8), 'TensorInvalidInfo');
  });

  it('refuses packed types that do not fill bytes', async () => {
    await refusal(openRaw(`{"a":${entry('F4', [3], [0, 1])}}`, 1), 'MisalignedSlice');
    expect((await openRaw(`{"a":${entry('F4', [4], [0, 2])}}`, 2)).tensors.size).toBe(1);
  });

  it('accepts empty tensors and scalars', async () => {
    const header = `{"e":${entry('F32', [2, 0], [0, 0])},"s":${entry('F32', [], [0, 4])}}`;
    const { tensors } = await openRaw(header, 4);
    expect(tensors.get('e')).toMatchObject({ shape: [2, 0], elementCount: 0 });
    expect(tensors.get('s')).toMatchObject({ shape: [], elementCount: 1 });
  });
});

describe('the data section', () => {
  const one = (name: string, begin: number, end: number) =>
    `"${name}":${entry('U8', [end - begin], [begin, end])}`;

  it('accepts entries in any order', async () => {
    expect((await openRaw(`{${one('b', 2, 5)},${one('a', 0, 2)}}`, 5)).tensors.size).toBe(2);
  });

  it('refuses overlaps and gaps', async () => {
    expect(await refusal(openRaw(`{${one('a', 0, 3)},${one('b', 2, 5)}}`, 5), 'InvalidOffset')).toContain(
      'overlaps',
    );
    expect(await refusal(openRaw(`{${one('a', 0, 2)},${one('b', 0, 2)}}`, 2), 'InvalidOffset')).toContain(
      'overlaps',
    );
    expect(await refusal(openRaw(`{${one('a', 0, 2)},${one('b', 3, 5)}}`, 5), 'InvalidOffset')).toContain(
      'gap',
    );
    expect(await refusal(openRaw(`{${one('a', 1, 2)}}`, 2), 'InvalidOffset')).toContain('gap');
  });

  it('copes with a hundred thousand overlapping entries', async () => {
    const entries = Array.from({ length: 100_000 }, (_, index) => one(String(index), 0, 1));
    await refusal(openRaw(`{${entries.join(',')}}`, 1), 'InvalidOffset');
  });

  it('says how many bytes are missing or too many', async () => {
    const reason = await refusal(openRaw(`{${one('a', 0, 5)}}`, 3), 'MetadataIncompleteBuffer');
    expect(reason).toContain('2 of 5 bytes');
    expect(await refusal(openRaw('{}', 1), 'MetadataIncompleteBuffer')).toContain('1 bytes after');
  });

  it('returns absolute ranges, even after an unpadded header', async () => {
    const header = `{${one('a', 0, 2)}}`;
    const { path, tensors } = await openRaw(header, 2);
    expect(tensors.get('a')!.range).toEqual({ path, offsetBytes: 8 + header.length, sizeBytes: 2 });
  });
});
