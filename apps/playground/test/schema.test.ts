import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { markbase } from './run-markbase.js';

let folder: string;
const path = (name: string) => join(folder, name);

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'markbase-schema-'));
  await writeFile(
    path('schema.json'),
    '{"type":"object","properties":{"a":{"multipleOf":3,"type":"integer"}}}',
  );
  await writeFile(path('good.json'), '{"a":9}\n');
  await writeFile(path('bad.json'), '{"a":8}');
  await writeFile(path('unsupported.json'), '{"properties":{"a":{"format":"regex"}}}');
});

afterAll(() => rm(folder, { recursive: true }));

test('describes which answers a schema accepts', async () => {
  const args = [
    'schema',
    path('schema.json'),
    '--accepts',
    path('good.json'),
    '--accepts',
    path('bad.json'),
    '--json',
  ];
  const { status, stdout } = await markbase(args);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    supported: true,
    unsupported: [],
    answers: [
      { file: path('good.json'), accepted: true },
      { file: path('bad.json'), accepted: false },
    ],
  });
  const accepted = await markbase(['schema', path('schema.json'), '--accepts', path('good.json')]);
  expect(accepted.status).toBe(0);
  expect(accepted.stdout).toContain('accepted: ');
});

test('names what cannot be enforced, and fails', async () => {
  const { status, stdout } = await markbase(['schema', path('unsupported.json'), '--json']);
  expect(status).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    supported: false,
    unsupported: [{ path: '#/properties/a', keyword: 'format' }],
    states: null,
  });
});

test('names the file that cannot be read', async () => {
  const { status, stderr } = await markbase(['schema', path('none.json')]);
  expect(status).toBe(1);
  expect(stderr).toContain('none.json');
});
