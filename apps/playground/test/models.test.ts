import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startHub } from '../../../fixtures/hub-server.js';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, markbaseJson } from './run-markbase.js';

interface Listing {
  models: { name: string; kind: string; directory: string; isComplete: boolean; isRemovable: boolean }[];
}

/** Runs commands with a cache and a hub of their own. */
async function withHub() {
  const files = Object.fromEntries(
    await Promise.all(
      ['config.json', 'model.safetensors'].map(
        async (name) => [name, await readFile(join(fixture('31b-hf'), name))] as const,
      ),
    ),
  );
  const hub = await startHub(files);
  const env = { HF_HUB_CACHE: temporaryFolder(), HF_ENDPOINT: hub.endpoint, MARKBASE_CONFIG: '' };
  return { env, hub };
}

it('pulls, lists and removes a model', async () => {
  const { env } = await withHub();
  const pulled = await markbaseJson<{ directory: string; receivedBytes: number }>(['pull', 'org/name'], env);
  expect(pulled.receivedBytes).toBeGreaterThan(1000);
  const { models } = await markbaseJson<Listing>(['list'], env);
  expect(models.filter(({ kind }) => kind === 'cache')).toMatchObject([
    { name: 'org/name', directory: pulled.directory, isComplete: true, isRemovable: true },
  ]);
  expect((await markbase(['list'], { env })).stdout).toMatch(/^org\/name +bfloat16 +\d/m);
  expect(await markbase(['rm', 'org/name'], { env })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('--yes'),
  });
  expect(await markbase(['rm', 'org/nme', '--yes'], { env })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('Did you mean org/name?'),
  });
  const { removed } = await markbaseJson<{ removed: object[] }>(['rm', 'org/name', '--yes'], env);
  expect(removed).toEqual([{ repository: 'org/name', freedBytes: pulled.receivedBytes, isGone: true }]);
  expect((await markbaseJson<Listing>(['list'], env)).models.some(({ kind }) => kind === 'cache')).toBe(
    false,
  );
});

it('lists the folders of the config file, and takes their names as models', async () => {
  const { env } = await withHub();
  const folder = temporaryFolder();
  await cp(fixture('31b-hf'), join(folder, 'publisher', 'mine'), { recursive: true });
  await mkdir(join(folder, 'other'));
  const config = join(folder, 'config.json');
  await writeFile(config, JSON.stringify({ models: ['~/models'] }));
  await mkdir(join(folder, 'home'));
  const own = { ...env, MARKBASE_CONFIG: config, HOME: join(folder, 'home') };
  await cp(join(folder, 'publisher'), join(folder, 'home', 'models', 'publisher'), { recursive: true });
  const { models } = await markbaseJson<Listing>(['list'], own);
  expect(models.at(-1)).toMatchObject({
    name: 'mine',
    kind: 'folder',
    directory: join(folder, 'home', 'models', 'publisher', 'mine'),
    isRemovable: false,
  });
  expect(await markbase(['rm', 'mine', '--yes'], { env: own })).toMatchObject({
    status: 1,
    stderr: expect.stringContaining('your own folder'),
  });
  const found = await markbase(['generate', '--model', 'mine', '--prompt', 'Hi'], { env: own });
  expect(found.stderr).toContain('tokenizer');
  const wrong = await markbase(['generate', '--model', 'mime', '--prompt', 'Hi'], { env: own });
  expect(wrong).toMatchObject({ status: 1, stderr: expect.stringContaining('Did you mean mine?') });
});

it('refuses a list of folders that is none', async () => {
  const config = join(temporaryFolder(), 'config.json');
  await writeFile(config, JSON.stringify({ models: 'here' }));
  const { status, stderr } = await markbase(['list'], { env: { MARKBASE_CONFIG: config } });
  expect({ status, stderr }).toMatchObject({
    status: 1,
    stderr: expect.stringMatching(/models.*list of folders/),
  });
});
