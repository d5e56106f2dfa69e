import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { fixture, markbase, markbaseJson } from './run-markbase.js';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';

test('finds a hub model in the cache', async () => {
  const cache = temporaryFolder();
  const repository = join(cache, 'models--markbase--tiny');
  await mkdir(join(repository, 'refs'), { recursive: true });
  await mkdir(join(repository, 'snapshots'), { recursive: true });
  await writeFile(join(repository, 'refs/main'), COMMIT);
  await cp(fixture('31b-hf'), join(repository, 'snapshots', COMMIT), { recursive: true });
  const workload = ['--prompt', '4', '--generate', '2', '--batch', '1', '--reps', '1'];
  const { decode } = await markbaseJson<{ decode: { generatedTokens: number }[] }>(
    ['bench', '--model', 'markbase/tiny', ...workload],
    { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: '1' },
  );
  expect(decode[0]?.generatedTokens).toBe(2);
});

test('reports what is missing if a model is neither local nor downloadable', async () => {
  const cache = temporaryFolder();
  const args = ['generate', '--model', 'markbase/none', '--prompt', 'Hi'];
  const offline = { HF_HUB_CACHE: cache, HF_HUB_OFFLINE: '1' };
  const { status, stdout, stderr } = await markbase(args, { env: offline });
  expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
  expect(stderr).toMatch(/^error: .*markbase\/none.*\n$/);
});
