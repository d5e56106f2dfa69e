import { createServer as createHttpServer, type IncomingMessage, request, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createServer } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

const MIB = 2 ** 20;
const demo = serveDemo(
  {
    limits: { bodiesBytes: 8 * MIB, bodyBytes: 4 * MIB, bodyMs: 4000, keepAliveMs: 200, stallBusyMs: 300 },
    allowedImageHosts: ['127.0.0.1:1'],
  },
  { maxSequences: 2 },
);

const post = async (body: string | object, path = '/v1/chat/completions') => {
  const response = await fetch(`${demo.url}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify({ model: 'demo', ...body }),
  });
  return {
    status: response.status,
    error: ((await response.json()) as { error?: Record<string, unknown> }).error,
  };
};

/** Sends the head of a request and part of its body, and leaves the rest to the caller. */
function unfinished(
  url: string,
  announced: number,
  sent: string,
): { socket: Socket; answer: Promise<string> } {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => {});
  socket.write(
    'POST /v1/chat/completions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n' +
      `Content-Length: ${announced}\r\n\r\n${sent}`,
  );
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('data', (data) => {
      text += data;
    });
    socket.on('close', () => resolve(text));
  });
  return { socket, answer };
}

describe('oversized requests', () => {
  it.each<[string, string]>([
    ['numbers instead of messages', `{"model":"demo","messages":[${'0,'.repeat(1_000_000)}0]}`],
    ['empty lists', `{"model":"demo","messages":[${'[],'.repeat(1_000_000)}[]]}`],
    ['keys', `{${Array.from({ length: 200_000 }, (_, key) => `"${key}":0`).join()}}`],
  ])('are refused before they are parsed: %s', async (_name, body) => {
    expect(await post(body)).toMatchObject({ status: 413, error: { code: 'body_too_large' } });
  });

  it('are read to their end, so that a client that is still sending gets the answer', async () => {
    const statuses = await Promise.all(
      Array.from({ length: 4 }, async () => (await post('{"a":'.repeat(800_000))).status),
    );
    expect(statuses).toEqual([400, 400, 400, 400]);
  });

  it('are refused while they arrive', async () => {
    const { answer } = unfinished(demo.url, 4 * MIB, `{"messages":${'['.repeat(300)}`);
    expect(await answer).toMatch(/^HTTP\/1.1 400 .*connection: close.*nested deeper than 200 levels/is);
  });

  it.each<[string, object, string, string]>([
    [
      'messages',
      { messages: Array(4097).fill({ role: 'user', content: 'a' }) },
      'messages',
      'chat/completions',
    ],
    [
      'items',
      { input: Array(5000).fill({ type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' }) },
      'input',
      'responses',
    ],
    [
      'values of a schema',
      {
        messages: [{ role: 'user', content: 'a' }],
        response_format: {
          type: 'json_schema',
          json_schema: {
            name: 'x',
            schema: { enum: Array.from({ length: 20_000 }, (_, index) => `${index}`) },
          },
        },
      },
      'response_format.json_schema.schema',
      'chat/completions',
    ],
  ])('are refused with the name of the limit: %s', async (_name, body, param, path) => {
    expect(await post(body, `/v1/${path}`)).toMatchObject({
      status: 400,
      error: { code: 'too_many_items', param },
    });
  });

  it('use bounded memory together: endless bodies are refused, and others are served again', async () => {
    const text = `{"messages":[{"role":"user","content":"${'x'.repeat(1.5 * MIB)}`;
    const bodies = Array.from({ length: 6 }, () => unfinished(demo.url, 3 * MIB, text));
    const answers = await Promise.all(bodies.map(({ answer }) => answer));
    const statuses = new Set(answers.map((answer) => answer.split(' ')[1]));
    // One client gets half of 8 MiB: two of 1.5 MiB fit, and run into the time limit.
    expect([...statuses].sort()).toEqual(['408', '429']);
    const ask = { messages: [{ role: 'user', content: 'What is 1 + 1?' }], max_tokens: 2 };
    expect((await post(ask)).status).toBe(200);
  });
});

describe('a slow host', () => {
  let images: Server;
  let host: string;
  beforeAll(async () => {
    images = createHttpServer((_request: IncomingMessage, _response) => {});
    await new Promise<void>((resolve) => {
      images.listen(0, '127.0.0.1', resolve);
    });
    host = `127.0.0.1:${(images.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    images.closeAllConnections();
    images.close();
  });

  it.each([false, true])(
    'does not occupy a slot, and its error has a status (stream: %s)',
    async (stream) => {
      const server = createServer({
        model: {
          id: 'demo',
          model: demo.model,
          media: { encodeImage: () => Promise.reject(new TypeError('no')) },
        },
        allowedImageHosts: [host],
        limits: { concurrent: 1, fetchMs: 700, keepAliveMs: 50, headersAfterMs: 50 },
      });
      const send = (content: unknown) =>
        server.fetch(
          new Request('http://localhost/v1/chat/completions', {
            method: 'POST',
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({
              model: 'demo',
              messages: [{ role: 'user', content }],
              stream,
              max_tokens: 2,
            }),
          }),
        );
      const slow = send([{ type: 'image_url', image_url: { url: `http://${host}/a.png` } }]);
      const other = await send('What is 1 + 1?');
      expect(other.status).toBe(200);
      await other.text();
      const { status, headers } = await slow;
      expect([status, headers.get('content-type')]).toEqual([400, 'application/json']);
      expect(await (await slow).json()).toMatchObject({ error: { code: 'fetch_failed' } });
      await server.close();
    },
  );
});

describe('a client that does not read', () => {
  /** A long stream of large events. */
  const STORY = {
    model: 'demo',
    messages: [{ role: 'user', content: 'Tell me a story about a seal.' }],
    stream: true,
    logprobs: true,
    top_logprobs: 20,
    max_tokens: 900,
  };
  /** Requests a stream without reading any of it. */
  const deaf = (url: string, fields: object = {}) => {
    const body = JSON.stringify({ ...STORY, ...fields });
    const sent = request(`${url}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
    });
    sent.on('error', () => {});
    sent.on('response', (response) => response.pause());
    sent.end(body);
    return sent;
  };

  it('is cut off within the drain time, while /ready reports the shutdown', async () => {
    const server = createServer({ model: { id: 'demo', model: demo.model }, limits: { drainMs: 1500 } });
    const url = await server.listen({ port: 0 });
    const sent = deaf(url, { n: 8 });
    await vi.waitFor(() => expect(demo.model.idleSequences).toBe(0), { timeout: 20_000 });
    const began = performance.now();
    const closed = server.close();
    const ready = await fetch(`${url}/ready`);
    expect([ready.status, ready.headers.get('connection')]).toEqual([503, 'close']);
    await closed;
    const tookMs = performance.now() - began;
    await vi.waitFor(() => expect(demo.model.idleSequences).toBe(2), { timeout: 20_000 });
    // Far from the minute that a client may stall; the machine may be busy.
    expect(tookMs).toBeLessThan(10_000);
    await expect(fetch(`${url}/ready`)).rejects.toThrow();
    sent.destroy();
  });

  it('loses its slots while others wait for them', async () => {
    const server = createServer({
      model: { id: 'demo', model: demo.model },
      limits: { concurrent: 1, stallBusyMs: 200 },
    });
    const ask = (fields: object) =>
      server.fetch(
        new Request('http://localhost/v1/chat/completions', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ ...STORY, ...fields }),
        }),
      );
    const { body } = await ask({ n: 2 });
    const other = await ask({ stream: false, logprobs: false, top_logprobs: undefined, max_tokens: 2 });
    expect(other.status).toBe(200);
    const reader = body!.getReader();
    const reading = (async () => {
      while (!(await reader.read()).done);
    })();
    await expect(reading).rejects.toThrow('stopped reading');
    await server.close();
  });
});
