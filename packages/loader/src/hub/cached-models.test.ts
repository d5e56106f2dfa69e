import { mkdir, readdir, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMIT, startHub } from '../../../../fixtures/hub-server.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { listCachedModels } from './cached-models.js';
import { downloadCheckpoint } from './download-checkpoint.js';
import { removeCachedModel } from './remove-cached-model.js';

const HEADER = '{"model.norm.weight":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}}';
const FILES = {
  'config.json': JSON.stringify(E2B),
  'model.safetensors': Buffer.from(rawSafetensors(HEADER, Buffer.alloc(4))),
  'tokenizer.json': '{}',
};
const BYTES = Object.values(FILES).reduce((sum, content) => sum + Buffer.byteLength(content), 0);

async function downloaded(isCut = false) {
  const hub = await startHub(FILES);
  if (isCut) {
    hub.misbehave = ({ path, content, response }) => {
      if (path !== 'model.safetensors') return false;
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 10), () => response.destroy());
      return true;
    };
  }
  const cacheDir = temporaryFolder();
  const options = { endpoint: hub.endpoint, cacheDir, token: null, maxRetries: 0, retryDelayMs: 1 };
  const outcome = await downloadCheckpoint('org/name', options).catch((error: unknown) => error);
  return { cacheDir, outcome, repository: join(cacheDir, 'models--org--name') };
}

it('lists what is in the cache, and removes what was downloaded', async () => {
  const { cacheDir, repository } = await downloaded();
  await mkdir(join(cacheDir, 'models--other--bert', 'snapshots'), { recursive: true });
  expect(await listCachedModels(cacheDir)).toEqual([
    {
      repository: 'org/name',
      directory: join(repository, 'snapshots', COMMIT),
      commit: COMMIT,
      sizeBytes: BYTES,
      isComplete: true,
      isOwn: true,
      changedAtMs: expect.any(Number),
    },
  ]);
  expect(await removeCachedModel('org/name', { cacheDir })).toEqual({
    repository: 'org/name',
    freedBytes: BYTES,
    isGone: true,
  });
  expect((await readdir(cacheDir)).sort()).toEqual(['.locks', 'models--other--bert']);
  expect(await listCachedModels(cacheDir)).toEqual([]);
});

it('leaves what another tool downloaded', async () => {
  const { cacheDir, repository } = await downloaded();
  const other = join(repository, 'snapshots', 'f'.repeat(40));
  await mkdir(other);
  await writeFile(join(repository, 'blobs', 'theirs'), 'another tool');
  await symlink('../../blobs/theirs', join(other, 'README.md'));
  const [shared] = (await readdir(join(repository, 'blobs'))).filter((name) => name.length === 64);
  await symlink(`../../blobs/${shared}`, join(other, 'model.safetensors'));
  expect(await removeCachedModel('org/name', { cacheDir })).toMatchObject({ isGone: false });
  expect((await readdir(join(repository, 'blobs'))).sort()).toEqual([shared, 'theirs'].sort());
  expect(await readdir(join(repository, 'snapshots'))).toEqual(['f'.repeat(40)]);
  await expect(removeCachedModel('org/name', { cacheDir })).rejects.toThrow('another tool downloaded it');
  await expect(removeCachedModel('org/none', { cacheDir })).rejects.toThrow('not in the cache');
});

it('lists and removes an interrupted download', async () => {
  const { cacheDir, outcome } = await downloaded(true);
  expect(outcome).toMatchObject({ rule: 'Network' });
  expect(await listCachedModels(cacheDir)).toMatchObject([
    { repository: 'org/name', isComplete: false, isOwn: true },
  ]);
  expect(await removeCachedModel('org/name', { cacheDir })).toMatchObject({ isGone: true });
});
