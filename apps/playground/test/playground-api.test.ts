import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { homedir } from 'node:os';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { temporaryFolder } from '../../../fixtures/temporary-folder.js';
import { serverSentEvents } from '../page/src/api/server-sent-events.js';
import type { FitReport, KnownModel } from '../src/playground-api/playground-types.js';
import { DEMO_MODEL, hasDemoModel } from './run-markbase.js';
import { type StalledHub, startStalledHub } from './stalled-hub.js';
import { type RunningPlayground, startPlayground } from './start-playground.js';

const JSON_HEADERS = { 'content-type': 'application/json' };

describe.skipIf(!hasDemoModel)('the playground', () => {
  let playground: RunningPlayground;
  let cache: string;
  let hub: StalledHub;
  beforeAll(async () => {
    hub = await startStalledHub();
    cache = temporaryFolder();
    playground = await startPlayground([], { HF_ENDPOINT: hub.endpoint, HF_HUB_CACHE: cache });
  });
  afterAll(async () => {
    expect(await playground.end()).toBe(0);
    hub.close();
  });

  const get = (path: string) => fetch(playground.address + path);
  const post = (path: string, body: unknown, signal?: AbortSignal) =>
    fetch(`${playground.address}/playground/api/${path}`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: typeof body === 'string' ? body : JSON.stringify(body),
      signal: signal ?? null,
    });
  const load = async (body: unknown) => {
    const events: { event: string; data: unknown }[] = [];
    const response = await post('load', body);
    for await (const { event, data } of serverSentEvents(response.body!)) {
      events.push({ event, data: JSON.parse(data) });
    }
    return events;
  };
  const modelId = async () => {
    const { model } = (await (await get('/playground/api/state')).json()) as { model: { id: string } | null };
    return model?.id;
  };

  it('refuses requests under another host name or from another origin', async () => {
    for (const path of ['/', '/playground/api/state', '/v1/models']) {
      expect(await statusOf(playground.address + path, { host: 'evil.example' })).toBe(421);
      expect(await statusOf(playground.address + path, { origin: 'https://evil.example' })).toBe(403);
      expect(await statusOf(playground.address + path, { origin: playground.address })).toBe(200);
    }
  });

  it('serves only the files of the page, with a strict policy', async () => {
    const page = await get('/');
    expect(page.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self'/,
    );
    const html = await page.text();
    const script = /src="\.(\/assets\/[^"]+\.js)"/.exec(html)?.[1];
    const { status, headers } = await get(script!);
    expect({ status, type: headers.get('content-type') }).toEqual({
      status: 200,
      type: 'text/javascript; charset=utf-8',
    });
    // All that the first visit loads; the rest comes when it is needed.
    const style = /href="\.(\/assets\/[^"]+\.css)"/.exec(html)?.[1];
    const files = await Promise.all(
      ['/', script!, style!].map(async (path) => Buffer.from(await (await get(path)).arrayBuffer())),
    );
    expect(files.reduce((sum, file) => sum + gzipSync(file).length, 0)).toBeLessThan(150_000);
    for (const path of ['/assets/none.js', '/assets/..%2f..%2fcli.js', '/assets/%2e%2e/cli.js', '/cli.js']) {
      expect((await get(path)).status).toBe(404);
    }
  });

  it.each([
    [{}, 'model: expected a folder'],
    [{ model: '/x', device: 'toaster' }, 'device: expected one of'],
    [{ model: '/x', precision: 'best' }, 'precision'],
    [{ model: '/x', maxSequences: 0 }, 'maxSequences'],
    [{ model: '/x', contextTokens: 1.5 }, 'contextTokens'],
    ['{', 'body: expected JSON'],
    [{ model: '/no/such/folder' }, '/no/such/folder'],
  ])('says what is wrong with %j', async (body, message) => {
    const response = await post('estimate', body);
    expect(response.status).toBe(400);
    const { error } = (await response.json()) as { error: { message: string } };
    expect(error.message).toContain(message);
  });

  it('limits bodies, and reports missing folders', async () => {
    expect((await post('estimate', `"${'x'.repeat(100_000)}"`)).status).toBe(413);
    expect((await get('/playground/api/folders?path=/no/such/folder')).status).toBe(400);
  });

  it('keeps its model if another cannot be read, and reloads it if another cannot be loaded', async () => {
    const folder = temporaryFolder();
    await mkdir(join(folder, 'model'));
    await copyFile(join(DEMO_MODEL, 'config.json'), join(folder, 'model', 'config.json'));
    const unreadable = await load({ model: join(folder, 'model') });
    expect(unreadable.at(-1)).toMatchObject({
      event: 'error',
      data: { error: { message: expect.any(String) } },
    });
    expect(unreadable).not.toContainEqual(
      expect.objectContaining({ data: expect.objectContaining({ stage: 'unload' }) }),
    );
    const tooLong = await load({ model: DEMO_MODEL, contextTokens: 1_000_000 });
    expect(tooLong.at(-1)).toMatchObject({ event: 'error', data: { error: { code: 'invalid_argument' } } });
    expect(await modelId()).toBe('demo-model');
    const answer = await fetch(`${playground.address}/v1/chat/completions`, {
      method: 'POST',
      headers: JSON_HEADERS,
      body: JSON.stringify({
        model: 'demo-model',
        messages: [{ role: 'user', content: 'Hi' }],
        max_tokens: 4,
      }),
    });
    expect(answer.status).toBe(200);
  });

  it('reports the progress of a download, refuses a second load, and cancels when the caller leaves', async () => {
    const controller = new AbortController();
    const response = await post('load', { model: 'org/name' }, controller.signal);
    const seen: unknown[] = [];
    await expect(async () => {
      for await (const { event, data } of serverSentEvents(response.body!)) {
        seen.push(event);
        // Events may arrive together; those after the one at which the caller leaves change nothing.
        if (controller.signal.aborted || !data.includes('"download"') || JSON.parse(data).doneBytes === 0)
          continue;
        const second = await load({ model: DEMO_MODEL });
        expect(second).toEqual([
          { event: 'error', data: { error: expect.objectContaining({ code: 'load_in_progress' }) } },
        ]);
        controller.abort();
      }
    }).rejects.toThrow('abort');
    expect(seen).not.toContain('ready');
    // The load ends shortly after its caller left; then another one can start.
    await expect
      .poll(async () => (await load({ model: DEMO_MODEL })).at(-1)?.event, { timeout: 20_000 })
      .toBe('ready');
  });

  it('lists the models on this machine, frees the loaded one, and loads it by a path in the home folder', async () => {
    const models = (await (await get('/playground/api/models')).json()) as KnownModel[];
    expect(models).toContainEqual(
      expect.objectContaining({ name: 'demo', kind: 'demo', model: DEMO_MODEL, isComplete: true }),
    );
    // The download of the test before was interrupted.
    expect(models).toContainEqual(
      expect.objectContaining({ name: 'org/name', kind: 'cache', model: 'org/name', isComplete: false }),
    );
    expect(await (await post('unload', {})).json()).toEqual({ model: null });
    expect(await modelId()).toBeUndefined();
    const home = `~/${relative(homedir(), DEMO_MODEL)}`;
    const fit = (await (await post('estimate', { model: home })).json()) as FitReport;
    expect(fit).toMatchObject({ fits: true, missingFile: null });
    expect((await load({ model: home })).at(-1)).toMatchObject({ event: 'ready' });
    expect((await get('/playground/api/folders?path=~')).status).toBe(200);
  });

  it('says that a checkpoint without a tokenizer cannot chat', async () => {
    const folder = temporaryFolder();
    for (const name of (await readdir(DEMO_MODEL)).filter((file) => /^config|^model/.test(file))) {
      await copyFile(join(DEMO_MODEL, name), join(folder, name));
    }
    expect(await (await post('estimate', { model: folder })).json()).toMatchObject({
      missingFile: 'tokenizer.json',
    });
    expect(await (await post('estimate', { model: 'org/name' })).json()).toMatchObject({
      missingFile: 'tokenizer.json',
    });
  });

  it('reports its activity twice per second, beginning with the last minute', async () => {
    const asked = Date.now();
    const controller = new AbortController();
    const response = await fetch(`${playground.address}/playground/api/performance`, {
      signal: controller.signal,
    });
    const samples: { atMs: number; slots: number; residentBytes: number }[] = [];
    for await (const { data } of serverSentEvents(response.body!)) {
      samples.push(JSON.parse(data));
      if (samples.at(-1)!.atMs > asked) break;
    }
    controller.abort();
    expect(samples.length).toBeGreaterThan(2);
    expect(samples[0]!.atMs).toBeLessThan(asked);
    expect(samples.at(-1)).toMatchObject({ slots: 4, running: 0, residentBytes: expect.any(Number) });
  });
});

it.skipIf(!hasDemoModel)('requires the key if one is set', async () => {
  const playground = await startPlayground([], { MARKBASE_API_KEY: 'secret' });
  try {
    expect(await statusOf(`${playground.address}/`, {})).toBe(200);
    for (const path of ['/playground/api/state', '/v1/models']) {
      expect(await statusOf(playground.address + path, {})).toBe(401);
      expect(await statusOf(playground.address + path, { authorization: 'Bearer secret' })).toBe(200);
    }
  } finally {
    await playground.end();
  }
});

/** Status of a response; unlike `fetch`, this can send another Host header. */
function statusOf(address: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    httpRequest(address, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    })
      .on('error', reject)
      .end();
  });
}
