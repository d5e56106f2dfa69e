// Long because every way in which a server can misbehave is a case of the same function.
import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile, readlink, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import {
  COMMIT,
  type HubServer,
  listen,
  type Misbehaviour,
  sendFile,
  startHub,
} from '../../../../fixtures/hub-server.js';
import { temporaryFolder } from '../../../../fixtures/temporary-folder.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { E2B } from '../../test/released-configs.js';
import { openCheckpoint } from '../checkpoint/open-checkpoint.js';
import { type DownloadOptions, type DownloadProgress, downloadCheckpoint } from './download-checkpoint.js';

const root = temporaryFolder();
const SIZE = 300_000;
const HEADER = `{"model.norm.weight":{"dtype":"U8","shape":[${SIZE}],"data_offsets":[0,${SIZE}]}}`;
const WEIGHTS = Buffer.from(rawSafetensors(HEADER, randomBytes(SIZE)));
const FILES = {
  'config.json': JSON.stringify(E2B),
  'model.safetensors': WEIGHTS,
  'tokenizer.json': '{"a": 1}',
  'copy.json': '{"a": 1}',
  'README.md': '# no',
  'pytorch_model.bin': 'no',
  'original/params.json': '{}',
};

let folders = 0;

/** A hub with its own cache, and a helper that downloads from it. */
async function start(misbehave?: Misbehaviour) {
  const hub = await startHub(FILES);
  if (misbehave) hub.misbehave = misbehave;
  const cacheDir = join(root, String(folders++));
  const progress: DownloadProgress[] = [];
  const download = (options: DownloadOptions = {}) =>
    downloadCheckpoint('org/name', {
      endpoint: hub.endpoint,
      cacheDir,
      token: null,
      retryDelayMs: 1,
      stallTimeoutMs: 2000,
      onProgress: (event) => progress.push(event),
      ...options,
    });
  return { hub, cacheDir, download, progress, repository: join(cacheDir, 'models--org--name') };
}

/** Requested ranges of the weights. */
function weightRanges(hub: HubServer): (string | null)[] {
  return hub.seen.filter(({ path }) => path.endsWith('model.safetensors')).map(({ range }) => range);
}

/** Sends the file, but closes the connection after some bytes of the body. */
function breakOff(response: Parameters<Misbehaviour>[0]['response'], body: Buffer, bytes: number): boolean {
  response.write(body.subarray(0, bytes), () => response.destroy());
  return true;
}

describe('downloadCheckpoint', () => {
  it('fills a cache that other tools can read, and then only needs the network for the file list', async () => {
    const { hub, download, repository, progress } = await start();
    const made = await download();
    expect(made).toMatchObject({ repository: 'org/name', commit: COMMIT });
    expect(made.directory).toBe(join(repository, 'snapshots', COMMIT));
    expect((await readdir(made.directory)).sort()).toEqual([
      'config.json',
      'copy.json',
      'model.safetensors',
      'tokenizer.json',
    ]);
    expect(await readFile(join(repository, 'refs', 'main'), 'utf8')).toBe(COMMIT);
    expect(await readlink(join(made.directory, 'model.safetensors'))).toMatch(
      /^\.\.\/\.\.\/blobs\/[0-9a-f]{64}$/,
    );
    expect(await readlink(join(made.directory, 'config.json'))).toMatch(/^\.\.\/\.\.\/blobs\/[0-9a-f]{40}$/);
    const opened = await openCheckpoint(repository);
    expect(Buffer.from(await opened.weights.tensor('language_model.norm.weight').read())).toEqual(
      WEIGHTS.subarray(-SIZE),
    );
    const last = progress.at(-1)!;
    expect(last).toMatchObject({ doneFiles: 4, totalFiles: 4 });
    expect(last.doneBytes).toBe(last.totalBytes);
    expect(made.receivedBytes).toBe(last.totalBytes);

    hub.seen.length = 0;
    expect((await download()).receivedBytes).toBe(0);
    expect(hub.seen).toHaveLength(1);
    expect(await download({ offline: true, endpoint: 'http://127.0.0.1:1' })).toEqual({
      ...made,
      receivedBytes: 0,
    });
    expect((await download({ offline: true, revision: COMMIT })).directory).toBe(made.directory);
  });

  it('resumes where a connection broke', async () => {
    const { hub, download } = await start(({ path, count, content, range, response }) => {
      if (path !== 'model.safetensors' || count > 2) return false;
      const begin = Number(/\d+/.exec(range ?? '0')![0]);
      const part = content.subarray(begin);
      response.writeHead(range === null ? 200 : 206, {
        'content-length': part.length,
        ...(range && { 'content-range': `bytes ${begin}-${content.length - 1}/${content.length}` }),
      });
      return breakOff(response, part, 50_000);
    });
    const made = await download({ maxRetries: 1 });
    expect(await readFile(join(made.directory, 'model.safetensors'))).toEqual(WEIGHTS);
    const ranges = weightRanges(hub);
    expect(ranges[0]).toBeNull();
    expect(ranges.length).toBe(4);
    for (const range of ranges.slice(1)) expect(range).toMatch(/^bytes=[1-9]\d*-$/);
    expect(made.receivedBytes).toBe(
      WEIGHTS.length + FILES['config.json'].length + FILES['tokenizer.json'].length,
    );
  });

  it('resumes in a later call after an abort', async () => {
    const { hub, download, repository } = await start(({ path, count, content, response }) => {
      if (path !== 'model.safetensors' || count > 0) return false;
      response.writeHead(200, { 'content-length': content.length });
      response.write(content.subarray(0, 100_000));
      return true;
    });
    const controller = new AbortController();
    const onProgress = ({ file, doneBytes }: DownloadProgress) => {
      if (file === 'model.safetensors' && doneBytes > 90_000) controller.abort();
    };
    await expect(download({ signal: controller.signal, onProgress })).rejects.toMatchObject({
      name: 'AbortError',
    });
    await expect(readFile(join(repository, 'refs', 'main'))).rejects.toThrow();
    await expect(download({ offline: true })).rejects.toMatchObject({ code: 'DOWNLOAD', rule: 'NotCached' });
    const made = await download();
    expect(weightRanges(hub)[1]).toMatch(/^bytes=[1-9]\d*-$/);
    expect(made.receivedBytes).toBeLessThan(WEIGHTS.length);
    expect(await readFile(join(made.directory, 'model.safetensors'))).toEqual(WEIGHTS);
  });

  it('closes a silent connection and retries', async () => {
    const { hub, download } = await start(({ path, count, content, response }) => {
      if (path !== 'model.safetensors' || count > 1) return false;
      if (count === 0)
        response.writeHead(200, { 'content-length': content.length }).write(content.subarray(0, 10));
      return true;
    });
    const made = await download({ stallTimeoutMs: 150 });
    expect(await readFile(join(made.directory, 'model.safetensors'))).toEqual(WEIGHTS);
    expect(weightRanges(hub)).toEqual([null, 'bytes=10-', 'bytes=10-']);
  });

  it('starts over if the server ignores the range', async () => {
    const { download } = await start(({ path, count, content, response }) => {
      if (path !== 'model.safetensors') return false;
      response.writeHead(200, { 'content-length': content.length });
      if (count === 0) return breakOff(response, content, 70_000);
      response.end(content);
      return true;
    });
    const made = await download();
    expect(await readFile(join(made.directory, 'model.safetensors'))).toEqual(WEIGHTS);
  });

  it.each<[string, Misbehaviour, object]>([
    [
      'a part that was not requested',
      ({ path, content, response }) => {
        if (path !== 'model.safetensors') return false;
        response.writeHead(206, { 'content-range': `bytes 5-${content.length - 1}/${content.length}` });
        response.end(content.subarray(5));
        return true;
      },
      { rule: 'RangeNotHonoured', status: 206 },
    ],
    [
      'a compressed file',
      ({ path, content, response }) => {
        if (path !== 'model.safetensors') return false;
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(content);
        return true;
      },
      { rule: 'RangeNotHonoured' },
    ],
    [
      'a longer file',
      ({ path, content, response }) => {
        if (path !== 'model.safetensors') return false;
        response.writeHead(200).end(Buffer.concat([content, content]));
        return true;
      },
      { rule: 'SizeMismatch' },
    ],
    [
      'a page instead of the file',
      ({ path, response }) => {
        if (path !== 'model.safetensors') return false;
        response.writeHead(200, { 'content-length': 14 }).end('<html>no</html');
        return true;
      },
      { rule: 'SizeMismatch' },
    ],
    ['401', refuse(401), { rule: 'Unauthorized', status: 401 }],
    ['403', refuse(403), { rule: 'Unauthorized', status: 403 }],
    ['404', refuse(404), { rule: 'NotFound', status: 404 }],
    ['418', refuse(418), { rule: 'UnexpectedStatus', status: 418 }],
    ['429 forever', refuse(429), { rule: 'RateLimited', status: 429 }],
    ['500 forever', refuse(500), { rule: 'ServerError', status: 500 }],
  ])('refuses %s', async (_, misbehave, expected) => {
    const { download, repository } = await start(misbehave);
    await expect(download({ maxRetries: 2 })).rejects.toMatchObject({ code: 'DOWNLOAD', ...expected });
    await expect(readFile(join(repository, 'refs', 'main'))).rejects.toThrow();
  });

  it('waits and retries after 429 and 500', async () => {
    const { hub, download } = await start(({ count, response }) => {
      if (count > 1) return false;
      response.writeHead(count === 0 ? 429 : 500, count === 0 ? { 'retry-after': '0' } : {}).end();
      return true;
    });
    await download();
    expect(weightRanges(hub)).toHaveLength(3);
  });

  it('starts over after 416, because its data belong to another file', async () => {
    const { hub, download, repository } = await start();
    const made = await download();
    const blob = join(
      repository,
      'blobs',
      (await readlink(join(made.directory, 'model.safetensors'))).split('/').at(-1)!,
    );
    hub.misbehave = ({ path, range, response }) => {
      if (path !== 'model.safetensors' || range === null) return false;
      response.writeHead(416).end();
      return true;
    };
    await writeFile(blob, 'another size');
    await writeFile(`${blob}.markbase.incomplete`, Buffer.alloc(1000));
    await download();
    expect(await readFile(blob)).toEqual(WEIGHTS);
  });

  it('discards a wrong beginning, and refuses a wrong hash', async () => {
    const { hub, download, repository } = await start();
    const made = await download();
    const name = (await readlink(join(made.directory, 'model.safetensors'))).split('/').at(-1)!;
    const blob = join(repository, 'blobs', name);
    await writeFile(blob, 'another size');
    await writeFile(`${blob}.markbase.incomplete`, Buffer.alloc(1000));
    await download();
    expect(await readFile(blob)).toEqual(WEIGHTS);

    const { hub: liar, download: downloadLie, repository: folder } = await start();
    liar.lies.add('model.safetensors');
    await expect(downloadLie()).rejects.toMatchObject({ rule: 'HashMismatch' });
    expect((await readdir(join(folder, 'blobs'))).filter((file) => file.endsWith('incomplete'))).toEqual([]);
    liar.lies.clear();
    liar.lies.add('config.json');
    await expect(downloadLie()).rejects.toMatchObject({ rule: 'HashMismatch' });
    expect(hub.seen.length).toBeGreaterThan(0);
  });

  it('follows a redirect to another origin without the token', async () => {
    const tokens: (string | undefined)[] = [];
    const storage = await listen(
      createServer((request, response) => {
        tokens.push(request.headers.authorization);
        sendFile(response, WEIGHTS, request.headers.range ?? null);
      }),
    );
    const { hub, download } = await start(({ path, response }) => {
      if (path !== 'model.safetensors') return false;
      response.writeHead(302, { location: `${storage}/signed?secret=1` }).end();
      return true;
    });
    const made = await download({ token: 'hf_secret' });
    expect(await readFile(join(made.directory, 'model.safetensors'))).toEqual(WEIGHTS);
    expect(tokens).toEqual([undefined]);
    for (const { token } of hub.seen) expect(token).toBe('Bearer hf_secret');
  });

  it('sends no token after a redirect that returns to the first origin', async () => {
    const elsewhere = await listen(
      createServer((_, response) => response.writeHead(302, { location: `${hub.endpoint}/again` }).end()),
    );
    const { hub, download } = await start(({ path, response }) => {
      if (path === 'model.safetensors') response.writeHead(302, { location: elsewhere }).end();
      else if (path === '/again') response.writeHead(200, { 'content-length': WEIGHTS.length }).end(WEIGHTS);
      else return false;
      return true;
    });
    await download({ token: ' hf_secret\n' });
    expect(hub.seen.find(({ path }) => path === '/again')?.token).toBeNull();
    expect(hub.seen[0]?.token).toBe('Bearer hf_secret');
  });

  it('does not print an invalid token', async () => {
    const { download } = await start();
    const failure = await download({ token: 'hf_\u0000secret' }).catch((error: Error) => error);
    expect(failure).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'token' });
    expect(String(failure)).not.toContain('secret');
  });

  it.each(['file:///etc/passwd', 'ftp://127.0.0.1/x', 'http://[bad'])(
    'does not follow %s',
    async (location) => {
      const { download } = await start(({ path, response }) => {
        if (path !== 'model.safetensors') return false;
        response.writeHead(302, { location }).end();
        return true;
      });
      await expect(download()).rejects.toMatchObject({ rule: 'BadRedirect' });
    },
  );

  it('gives up on a redirect loop', async () => {
    const { download } = await start(({ response }) => {
      response.writeHead(307, { location: '/again' }).end();
      return true;
    });
    await expect(download()).rejects.toMatchObject({ rule: 'BadRedirect' });
  });

  it.each([
    '../evil.json',
    '/etc/evil.json',
    'a/../../b.json',
    'C:evil.json',
    'a\\b.json',
    'a//b.json',
    'nul\u0000.json',
  ])('refuses a repository with the file %j', async (name) => {
    const { hub, download } = await start();
    hub.files.set(name, Buffer.from('{}'));
    await expect(download({ include: () => true })).rejects.toMatchObject({ rule: 'UnsafeFileName' });
  });

  it.each<[string, string]>([
    ['no JSON', '<html>'],
    ['a list', '[]'],
    ['no commit', '{"siblings":[]}'],
    ['a commit that is a path', '{"sha":"../../../../../../../../../../../../../x","siblings":[]}'],
    ['no files', `{"sha":"${COMMIT}"}`],
    ['a file without a size', `{"sha":"${COMMIT}","siblings":[{"rfilename":"a.json","blobId":"${COMMIT}"}]}`],
    [
      'a blob id that is a path',
      `{"sha":"${COMMIT}","siblings":[{"rfilename":"a.json","size":1,"blobId":"../x"}]}`,
    ],
    [
      'a file twice',
      `{"sha":"${COMMIT}","siblings":[${`{"rfilename":"a","size":1,"blobId":"${COMMIT}"},`.repeat(2).slice(0, -1)}]}`,
    ],
  ])('refuses a list with %s', async (_, text) => {
    const { download } = await start(({ path, response }) => {
      if (!path.startsWith('/api/')) return false;
      response.writeHead(200).end(text);
      return true;
    });
    await expect(download()).rejects.toMatchObject({ code: 'DOWNLOAD', rule: 'BadAnswer' });
  });

  it('reports that a repository without config.json is not a checkpoint', async () => {
    const { hub, download } = await start();
    hub.files.delete('config.json');
    await expect(download()).rejects.toMatchObject({ rule: 'NotFound' });
  });

  it('lets one call at a time download', async () => {
    const { hub, download, progress } = await start();
    const made = await Promise.all([download(), download(), download()]);
    expect(new Set(made.map(({ directory }) => directory)).size).toBe(1);
    expect(weightRanges(hub)).toEqual([null]);
    expect(progress.some(({ phase }) => phase === 'waiting')).toBe(true);
  });

  it('waits for a living process, breaks the lock of a dead one, and can be aborted while it waits', async () => {
    const { download, cacheDir } = await start();
    const lock = join(cacheDir, '.locks', 'models--org--name', 'markbase.lock');
    await mkdir(join(lock, '..'), { recursive: true });
    const owner = (pid: number) => JSON.stringify({ pid, host: hostname(), id: 'x' });
    await writeFile(lock, owner(process.pid));
    const controller = new AbortController();
    const waiting = download({ signal: controller.signal });
    await delay(250);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
    // No process has the highest possible id.
    await writeFile(lock, owner(2 ** 22 + 1));
    await download();
    await expect(stat(lock)).rejects.toThrow();
    await writeFile(lock, JSON.stringify({ pid: 1, host: 'elsewhere', id: 'x' }));
    const past = new Date(Date.now() - 60_000);
    await utimes(lock, past, past);
    await download();
    await expect(stat(lock)).rejects.toThrow();
  });

  it.each([
    ['a/b/c', {}, 'repository'],
    ['../x', {}, 'repository'],
    ['org/..', {}, 'repository'],
    ['org/na--me', {}, 'repository'],
    ['org/name', { revision: '../main' }, 'revision'],
    ['org/name', { endpoint: 'file:///tmp' }, 'endpoint'],
  ])('refuses %s with %o', async (repository, options, argument) => {
    await expect(downloadCheckpoint(repository, options)).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      argument,
    });
  });
});

function refuse(status: number): Misbehaviour {
  return ({ path, response }) => {
    if (path !== 'model.safetensors') return false;
    response.writeHead(status).end('no');
    return true;
  };
}
