import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { checkpointFolder } from './checkpoint-folder.js';

const COMMIT = '0123456789abcdef0123456789abcdef01234567';
const WEIGHTS = Buffer.alloc(100_000, 7);
const CONFIG = Buffer.from('{}');
const blobId = (bytes: Buffer) =>
  createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
const LISTING = JSON.stringify({
  id: 'org/name',
  sha: COMMIT,
  siblings: [
    { rfilename: 'config.json', size: CONFIG.length, blobId: blobId(CONFIG) },
    { rfilename: 'model.safetensors', size: WEIGHTS.length, blobId: blobId(WEIGHTS) },
  ],
});

/** A hub on this machine. The connection breaks in the middle of the weights as often as `breaks` says. */
async function startHub(breaks: number) {
  const ranges: string[] = [];
  let left = breaks;
  const send = (response: ServerResponse, request: IncomingMessage, bytes: Buffer) => {
    const [, from = '0'] = /bytes=(\d+)-/.exec(request.headers.range ?? '') ?? [];
    const rest = bytes.subarray(Number(from));
    const range = { 'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}` };
    response.writeHead(from === '0' ? 200 : 206, {
      'content-length': rest.length,
      ...(from !== '0' && range),
    });
    if (bytes === WEIGHTS) ranges.push(from);
    if (bytes === WEIGHTS && left-- > 0)
      response.write(rest.subarray(0, rest.length / 2), () => response.destroy());
    else response.end(rest);
  };
  const server = createServer((request, response) => {
    if (request.url?.startsWith('/api/')) response.end(LISTING);
    else send(response, request, request.url?.endsWith('config.json') ? CONFIG : WEIGHTS);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const stop = () => {
    server.closeAllConnections();
    server.close();
  };
  return { endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, ranges, stop };
}

it('continues a broken download where it stopped, and reports its progress', async () => {
  const hub = await startHub(1);
  const cacheDir = temporaryFolder();
  const progress: number[] = [];
  const folder = await checkpointFolder('org/name', {
    endpoint: hub.endpoint,
    cacheDir,
    onProgress: ({ doneBytes }) => progress.push(doneBytes),
  });
  hub.stop();
  expect(hub.ranges.map(Number)).toEqual([0, expect.any(Number)]);
  expect(Number(hub.ranges[1])).toBeGreaterThan(0);
  expect(progress.at(-1)).toBe(WEIGHTS.length + CONFIG.length);
  expect((await readFile(join(folder, 'model.safetensors'))).equals(WEIGHTS)).toBe(true);
});

it('uses the cache if the hub cannot be reached', async () => {
  const hub = await startHub(0);
  const cacheDir = temporaryFolder();
  const folder = await checkpointFolder('org/name', { endpoint: hub.endpoint, cacheDir });
  hub.stop();
  expect(await checkpointFolder('org/name', { endpoint: hub.endpoint, cacheDir })).toBe(folder);
  expect(hub.ranges).toEqual(['0']);
});

it('says at once what to do if neither the hub nor the cache has the model', async () => {
  const hub = await startHub(0);
  hub.stop();
  const cacheDir = temporaryFolder();
  const failure = { code: 'DOWNLOAD', rule: 'NotCached', url: 'org/name' };
  // With the loader's five retries, this would take longer than the test may.
  const missing = checkpointFolder('org/name', { endpoint: hub.endpoint, cacheDir, retryDelayMs: 1e6 });
  await expect(missing).rejects.toMatchObject(failure);
  await expect(missing).rejects.toThrow(/cannot be reached.*download org\/name.*@markbase\/demo-model/);
  const offline = checkpointFolder('org/name', { offline: true, cacheDir });
  await expect(offline).rejects.toMatchObject(failure);
  await expect(offline).rejects.toThrow(/offline.*download org\/name/);
  expect(await readdir(cacheDir)).toEqual([]);
});

it('returns a path as it is', async () => {
  expect(await checkpointFolder('./no/such/folder')).toBe('./no/such/folder');
});
