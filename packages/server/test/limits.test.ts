import { createServer as createHttpServer, type Server as HttpServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { createServer, type Server } from '../src/index.js';
import { serveDemo } from './serve-demo.js';

const demo = serveDemo({}, { maxSequences: 2 });
const MEDIA_BYTES = 3000;

let server: Server;
let images: HttpServer;
let host: string;
beforeAll(async () => {
  images = createHttpServer((_request, response) => response.end('x'.repeat(MEDIA_BYTES + 1)));
  await new Promise<void>((resolve) => {
    images.listen(0, '127.0.0.1', resolve);
  });
  host = `127.0.0.1:${(images.address() as AddressInfo).port}`;
  const encoder = () => Promise.reject(new TypeError('not to be called'));
  server = createServer({
    model: {
      id: 'demo',
      model: demo.model,
      media: { encodeImage: encoder, encodeAudio: encoder, encodeVideo: encoder },
    },
    allowedImageHosts: [host],
    limits: {
      bodyBytes: 200_000,
      textBytes: 20_000,
      bodyValues: 500,
      messages: 4,
      parts: 6,
      tools: 2,
      schemaValues: 20,
      mediaBytes: MEDIA_BYTES,
      mediaParts: 2,
      choices: 2,
    },
  });
});
afterAll(async () => {
  images.close();
  await server.close();
});

const hi = { role: 'user', content: 'Hi' };
const parts = (...content: object[]) => ({ messages: [{ role: 'user', content }] });
const large = Buffer.alloc(MEDIA_BYTES + 1).toString('base64');
const url = 'messages[0].content[0]';
const picture = (address: string) => ({ type: 'image_url', image_url: { url: address } });
const schema = (value: object) => ({
  messages: [hi],
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: value } },
});

async function send(to: Server, body: object, env: object = {}): Promise<Response> {
  const request = new Request('http://localhost/v1/chat/completions', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'demo', ...body }),
  });
  return to.app.fetch(request, env);
}

describe('a request beyond a limit', () => {
  it.each<[string, number, string, string | null, () => object]>([
    [
      'bodyBytes',
      413,
      'body_too_large',
      null,
      () => ({ messages: [{ ...hi, content: 'x'.repeat(250_000) }] }),
    ],
    [
      'textBytes',
      413,
      'body_too_large',
      null,
      () => ({ messages: [{ ...hi, content: 'x'.repeat(30_000) }] }),
    ],
    ['bodyValues', 413, 'body_too_large', null, () => ({ messages: [hi], x: Array(600).fill(0) })],
    ['messages', 400, 'too_many_items', 'messages', () => ({ messages: Array(5).fill(hi) })],
    [
      'parts',
      400,
      'too_many_items',
      'messages[0].content',
      () => parts(...Array(8).fill({ type: 'text', text: 'a' })),
    ],
    [
      'tools',
      400,
      'too_many_items',
      'tools',
      () => ({ messages: [hi], tools: Array(3).fill({ type: 'function', function: { name: 'f' } }) }),
    ],
    [
      'schemaValues',
      400,
      'too_many_items',
      'response_format.json_schema.schema',
      () => schema({ enum: Array.from({ length: 30 }, (_, index) => index) }),
    ],
    [
      'mediaBytes, sent',
      413,
      'media_too_large',
      `${url}.image_url.url`,
      () => parts(picture(`data:image/png;base64,${large}`)),
    ],
    [
      'mediaBytes, a sound',
      413,
      'media_too_large',
      `${url}.input_audio.data`,
      () => parts({ type: 'input_audio', input_audio: { data: large, format: 'wav' } }),
    ],
    [
      'mediaBytes, a video',
      413,
      'media_too_large',
      `${url}.video_url.url`,
      () => parts({ type: 'video_url', video_url: { url: `data:video/mp4;base64,${large}` } }),
    ],
    [
      'mediaBytes, fetched',
      413,
      'media_too_large',
      `${url}.image_url.url`,
      () => parts(picture(`http://${host}/a.png`)),
    ],
    [
      'mediaParts',
      400,
      'too_many_media',
      'messages[0].content[2].image_url.url',
      () => parts(...Array(3).fill(picture('data:image/png;base64,AAAA'))),
    ],
    ['choices', 400, 'invalid_value', 'n', () => ({ messages: [hi], n: 3 })],
  ])('%s: %i %s, with the parameter %s', async (_limit, status, code, param, body) => {
    const response = await send(server, body());
    expect([response.status, await response.json()]).toMatchObject([status, { error: { code, param } }]);
  });

  it('names the keyword of a schema that is too large, though its grammar is built in a thread', async () => {
    const pattern = { type: 'string', pattern: '^.*[a-z].{300}$' };
    const response = await send(server, schema({ type: 'object', properties: { a: pattern } }));
    const param = 'response_format.json_schema.schema#/properties/a/pattern';
    expect([response.status, await response.json()]).toMatchObject([400, { error: { param } }]);
  });
});

describe('clients', () => {
  const from = (remoteAddress: string) => ({ incoming: { socket: { remoteAddress } } });
  const ask = { messages: [hi], max_tokens: 30, logit_bias: { 1: -100, 16: -100 } };

  it('take turns: many requests of one do not hold up those of another, nor keep them out of the queue', async () => {
    const fair = createServer({
      model: { id: 'demo', model: demo.model },
      limits: { concurrent: 1, queue: 4 },
    });
    const waiting = async () => {
      const metrics = await (await fair.fetch(new Request('http://localhost/metrics'))).text();
      return Number(/^markbase_\w*waiting\w*\{[^}]*\} (\d+)$/m.exec(metrics)?.[1]);
    };
    const ended: string[] = [];
    const sendFrom = async (name: string, address: string) => {
      const response = await send(fair, ask, from(address));
      await response.text();
      ended.push(`${name} ${response.status}`);
      return response;
    };
    const many = Array.from({ length: 5 }, () => sendFrom('many', '10.0.0.1'));
    await vi.waitFor(async () => expect(await waiting()).toBe(4), { interval: 1, timeout: 20_000 });
    const few = sendFrom('few', '10.0.0.2');
    const responses = await Promise.all([...many, few]);
    // The newest request of the client that filled the queue makes room.
    const refused = responses.filter(({ status }) => status === 429);
    expect(refused.map(({ headers }) => Number(headers.get('retry-after')))).toEqual([expect.any(Number)]);
    expect(Number(refused[0]!.headers.get('retry-after'))).toBeGreaterThan(0);
    const answered = ended.filter((name) => name.endsWith('200'));
    expect(answered).toHaveLength(5);
    expect(answered.indexOf('few 200')).toBeLessThanOrEqual(2);
    await fair.close();
  });
});
