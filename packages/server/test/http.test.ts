import http from 'node:http';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { createServer, type LogFields } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

interface ErrorBody {
  readonly error: { readonly code: string };
}

const logged: [string, LogFields][] = [];
const note = (message: string, fields: LogFields) => void logged.push([message, fields]);
const demo = serveDemo(
  {
    allowedOrigins: ['https://app.example'],
    logger: { info: note, warn: note, error: note },
    limits: { queue: 1, bodyBytes: 100_000 },
  },
  { maxSequences: 2 },
);
const STORY = {
  model: 'demo',
  messages: [{ role: 'user', content: 'Tell me a story about a seal.' }],
  temperature: 0,
};
let post: (body: unknown, headers?: Record<string, string>, path?: string) => Promise<Response>;
beforeAll(() => {
  post = (body, headers = {}, path = '/v1/chat/completions') =>
    fetch(`${demo.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', ...headers },
      body: typeof body === 'string' ? body : JSON.stringify(body),
    });
});
afterEach(() => vi.waitFor(() => expect(demo.model.idleSequences).toBe(2), { timeout: 10_000 }));

/** Sends a request and disconnects after the first bytes of a stream, or, without a stream, as soon as `isRunning`. */
function leaveEarly(body: object, isRunning: () => boolean): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setInterval(() => !('stream' in body) && isRunning() && leave(), 1);
    const request = http.request(`${demo.url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    const leave = () => {
      clearInterval(timer);
      request.destroy();
      resolve();
    };
    request.on('error', (error) => (request.destroyed ? resolve() : reject(error)));
    request.on('response', (response) => response.once('data', () => setTimeout(leave, 50)));
    request.end(JSON.stringify(body));
  });
}

describe('routes and checks', () => {
  it('lists its models and reports its state', async () => {
    const models = await demo.client.models.list();
    expect(models.data).toMatchObject([
      { id: 'demo', object: 'model', context_length: 1024, input_modalities: ['text'] },
    ]);
    expect(await demo.client.models.retrieve('demo')).toMatchObject({ id: 'demo' });
    expect((await fetch(`${demo.url}/health`)).status).toBe(200);
    expect((await fetch(`${demo.url}/ready`)).status).toBe(200);
    const missing = await fetch(`${demo.url}/v1/other`);
    expect([missing.status, await missing.json()]).toMatchObject([404, { error: { code: 'not_found' } }]);
  });

  it('reports metrics in the format of Prometheus', async () => {
    await (await post({ ...STORY, max_tokens: 3 })).text();
    const text = await (await fetch(`${demo.url}/metrics`)).text();
    expect(text).toMatch(/markbase_requests_total\{route="\/v1\/chat\/completions",status="200"\} \d/);
    expect(text).toMatch(/markbase_generation_tokens_total\{model="demo"\} \d/);
    expect(text).toMatch(/markbase_time_to_first_token_seconds_count\{model="demo"\} \d/);
    expect(text).toMatch(/markbase_requests_running\{model="demo"\} 0/);
    expect(text).toMatch(/markbase_device_info\{model="demo",device="cpu"\} 1/);
    expect(text).toMatch(/process_resident_memory_bytes \d{6}/);
  });

  it.each<[number, string, string | object, Record<string, string>]>([
    [400, 'invalid_json', '{"model":', {}],
    [400, 'invalid_json', '"\u00ff', {}],
    [400, 'invalid_json', `${'['.repeat(300)}${']'.repeat(300)}`, {}],
    [413, 'body_too_large', `"${'x'.repeat(200_000)}"`, {}],
    [415, 'unsupported_content_type', STORY, { 'content-type': 'text/plain' }],
    [404, 'model_not_found', { ...STORY, model: 'gpt-4' }, {}],
    [
      400,
      'context_length_exceeded',
      { ...STORY, messages: [{ role: 'user', content: 'word '.repeat(3000) }] },
      {},
    ],
    [403, 'origin_not_allowed', STORY, { origin: 'https://evil.example' }],
  ])('refuses with %i %s', async (status, code, body, headers) => {
    const response = await post(body, headers);
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code } }]);
    expect(response.headers.get('x-request-id')).toMatch(/^req_/);
  });

  it('refuses foreign host names, and accepts pages of allowed origins', async () => {
    const status = await new Promise((resolve) => {
      http.get(`${demo.url}/v1/models`, { headers: { host: 'evil.example' } }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
    });
    expect(status).toBe(421);
    const preflight = (origin: string) =>
      fetch(`${demo.url}/v1/models`, { method: 'OPTIONS', headers: { origin } });
    expect((await preflight('https://evil.example')).status).toBe(403);
    const allowed = await preflight('https://app.example');
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example');
    const own = await fetch(`${demo.url}/v1/models`, { headers: { origin: demo.url } });
    expect([own.status, own.headers.get('access-control-allow-origin')]).toEqual([200, null]);
  });
});

describe('under load', () => {
  it('refuses requests beyond the queue, with a time to retry', async () => {
    const responses = await Promise.all(
      Array.from({ length: 5 }, () =>
        post({ ...STORY, max_tokens: 20 }).then(async (r) => [r, await r.json()] as const),
      ),
    );
    const statuses = responses.map(([{ status }]) => status).sort();
    expect(statuses).toEqual([200, 200, 200, 429, 429]);
    const [refused, body] = responses.find(([{ status }]) => status === 429)!;
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((body as ErrorBody).error).toMatchObject({ type: 'rate_limit_error', code: 'queue_full' });
  });

  it.each([{ stream: true }, {}])('stops within a step or two when the client leaves (%j)', async (extra) => {
    const { endOfTurnIds } = await demo.model.language();
    const abortedCount = async () =>
      Number(
        /answers_aborted_total\{model="demo"\} (\d+)/.exec(
          await (await fetch(`${demo.url}/metrics`)).text(),
        )?.[1] ?? 0,
      );
    const abortedBefore = await abortedCount();
    const advance = vi.spyOn(demo.model, 'advance');
    // Otherwise it would continue for a thousand tokens.
    const body = { ...STORY, ...extra, logit_bias: Object.fromEntries(endOfTurnIds.map((id) => [id, -100])) };
    await leaveEarly(body, () => advance.mock.calls.length > 5);
    const before = advance.mock.calls.length;
    await vi.waitFor(() => expect(demo.model.idleSequences).toBe(2), { timeout: 10_000, interval: 1 });
    expect(advance.mock.calls.length - before).toBeLessThanOrEqual(3);
    advance.mockRestore();
    expect(await abortedCount()).toBe(abortedBefore + 1);
  });

  it('logs requests without their contents', () => {
    const text = JSON.stringify(logged);
    expect(text).toContain('/v1/chat/completions');
    expect(text).not.toContain('seal');
  });
});

describe('closing', () => {
  it('lets answers finish, refuses new ones, and reports answers that it cuts off', async () => {
    const model = { id: 'demo', model: demo.model };
    for (const [drainMs, expected] of [
      [60_000, '[DONE]'],
      [1, 'shutting_down'],
    ] as const) {
      const server = createServer({ model, limits: { drainMs } });
      const url = await server.listen({ port: 0 });
      const response = await fetch(`${url}/v1/chat/completions`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...STORY, max_tokens: 25, stream: true }),
      });
      const closed = server.close();
      const refused = await server.fetch(new Request('http://localhost/v1/models'));
      expect([refused.status, ((await refused.json()) as ErrorBody).error.code]).toEqual([
        503,
        'shutting_down',
      ]);
      expect((await server.fetch(new Request('http://localhost/ready'))).status).toBe(503);
      const text = await response.text();
      expect(text.trimEnd().split('\n\n').at(-1)).toContain(expected);
      await closed;
      await expect(fetch(url)).rejects.toThrow();
    }
  });
});

describe('time', () => {
  it('dates answers by the given clock, and measures without it', async () => {
    let now = 2e12;
    const server = createServer({ model: { id: 'demo', model: demo.model }, clock: () => now });
    const ask = async () => {
      const request = new Request('http://localhost/v1/chat/completions', {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ ...STORY, max_tokens: 2 }),
      });
      return ((await (await server.fetch(request)).json()) as { created: number }).created;
    };
    expect(await ask()).toBe(2e9);
    now = 1e12;
    expect(await ask()).toBe(1e9);
    const metrics = await (await server.fetch(new Request('http://localhost/metrics'))).text();
    expect(
      Number(/request_latency_seconds_sum\{model="demo"\} ([\d.e+-]+)/.exec(metrics)![1]),
    ).toBeGreaterThan(0);
    await server.close();
  });

  it('keeps the connection alive during a long answer without a stream', async () => {
    const model = { id: 'demo', model: demo.model };
    const server = createServer({ model, limits: { keepAliveMs: 5 } });
    const request = new Request('http://localhost/v1/chat/completions', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ ...STORY, max_tokens: 40 }),
    });
    const text = await (await server.fetch(request)).text();
    expect(text).toMatch(/^ +\{/);
    expect(JSON.parse(text).usage.completion_tokens).toBe(40);
    await server.close();
  });
});
