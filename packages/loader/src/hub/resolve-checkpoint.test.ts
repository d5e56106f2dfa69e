import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { COMMIT, startHub } from '../../../../fixtures/hub-server.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { resolveCheckpoint } from './resolve-checkpoint.js';

const root = temporaryFolder();

it('returns folders unchanged, downloads repositories by name, and passes on everything else', async () => {
  const hub = await startHub({
    'config.json': JSON.stringify(E2B),
    'model.safetensors': Buffer.from(rawSafetensors('{}')),
  });
  const options = { endpoint: hub.endpoint, token: null, cacheDir: join(root, 'cache') };
  await mkdir(join(root, 'here'));
  expect(await resolveCheckpoint(join(root, 'here'), options)).toBe(join(root, 'here'));
  expect(await resolveCheckpoint('./org/name', options)).toBe('./org/name');
  expect(hub.seen).toEqual([]);
  const directory = await resolveCheckpoint('org/name', options);
  expect(directory).toBe(join(root, 'cache', 'models--org--name', 'snapshots', COMMIT));
});
