import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { fixture } from './run-markbase.js';

/** A local stand-in for a model hub. */
export interface StalledHub {
  readonly endpoint: string;
  close(): void;
}

const COMMIT = '0123456789abcdef0123456789abcdef01234567';

/** A hub with one repository, `org/name`, whose weights arrive only halfway. */
export async function startStalledHub(): Promise<StalledHub> {
  const folder = fixture('31b-hf');
  const config = await readFile(join(folder, 'config.json'));
  const weights = await readFile(join(folder, 'model.safetensors'));
  const size = weights.length;
  const siblings = [
    {
      rfilename: 'config.json',
      size: config.length,
      blobId: createHash('sha1').update(`blob ${config.length}\0`).update(config).digest('hex'),
    },
    {
      rfilename: 'model.safetensors',
      size,
      blobId: COMMIT,
      lfs: { sha256: createHash('sha256').update(weights).digest('hex'), size, pointerSize: 134 },
    },
  ];
  const server = createServer(({ url = '' }, response) => {
    if (url.startsWith('/api/models/')) {
      response.end(JSON.stringify({ id: 'org/name', sha: COMMIT, siblings }));
    } else if (url.endsWith('/config.json')) {
      response.writeHead(200, { 'content-length': config.length }).end(config);
    } else {
      response.writeHead(200, { 'content-length': size }).write(weights.subarray(0, size / 2));
    }
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  return {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}
