import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { SeededRandom } from '../../../fixtures/seeded-random.js';
import { malformedRequest, type RawRequest } from '../fuzz/malformed-request.js';
import { serveDemo } from './serve-demo.js';

/** 500 in ordinary runs; `pnpm fuzz` sends 10,000. */
const COUNT = Number(process.env.MARKBASE_FUZZ ?? 500);
const SEED = Number(process.env.MARKBASE_FUZZ_SEED ?? 1);
const AT_ONCE = 8;
/** Statuses that a request may get; a failure of the server is not among them. */
const STATUSES = [200, 204, 400, 403, 404, 413, 415, 429];
/** A request that turns out to be valid is abandoned after this time, as clients do. */
const TIMEOUT_MS = 150;

const POST = 'POST /v1/messages HTTP/1.1\r\nHost: localhost\r\n';

const failures: unknown[] = [];
const demo = serveDemo(
  {
    limits: { queue: 4, bodyBytes: 200_000, choices: 4 },
    logger: {
      info: () => {},
      warn: () => {},
      error: (_message, fields, error) => failures.push(fields, error),
    },
  },
  { contextTokens: 512, maxSequences: 4 },
);

async function send({ method, path, headers, body }: RawRequest): Promise<string | null> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  try {
    const response = await fetch(`${demo.url}${path}`, { method, headers, body, signal });
    if (!STATUSES.includes(response.status)) return `status ${response.status}: ${await response.text()}`;
    const text = await response.text();
    if (response.status < 400 || method === 'HEAD' || method === 'OPTIONS') return null;
    const { error } = JSON.parse(text) as { error?: { message?: unknown } };
    return typeof error?.message === 'string' && error.message !== '' ? null : `no message: ${text}`;
  } catch (error) {
    return (error as Error).name === 'TimeoutError' ? null : `${error} ${(error as Error).cause}`;
  }
}

describe('malformed requests', () => {
  it(
    `are refused or answered (${COUNT}), and do not affect later answers`,
    async () => {
      const ask = () =>
        demo.client.chat.completions.create({
          model: 'demo',
          messages: [{ role: 'user', content: 'What is 31 + 90?' }],
          temperature: 0,
        });
      const before = (await ask()).choices;
      let next = 0;
      const worker = async () => {
        while (next < COUNT) {
          const seed = SEED * 1_000_000 + next++;
          const request = malformedRequest(new SeededRandom(seed));
          const finding = await send(request);
          const shown = new TextDecoder().decode(request.body ?? new Uint8Array()).slice(0, 2000);
          expect(finding, `seed ${seed}: ${request.method} ${request.path} ${shown}`).toBeNull();
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, worker));
      await vi.waitFor(() => expect(demo.model.idleSequences).toBe(4), { timeout: 20_000 });
      expect(failures).toEqual([]);
      expect((await ask()).choices).toEqual(before);
    },
    COUNT * 600 + 60_000,
  );

  it.each([
    ['a zero byte in a header', 'GET / HTTP/1.1\r\nHost: a\u0000b\r\n\r\n'],
    ['half a body', `${POST}Content-Type: application/json\r\nContent-Length: 10\r\n\r\n{"a"`],
    ['a broken chunk', `${POST}Transfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n`],
    ['two lengths', `${POST}Content-Length: 5\r\nContent-Length: 6\r\n\r\n{}`],
    ['a very long address', `GET /${'a'.repeat(40_000)} HTTP/1.1\r\nHost: localhost\r\n\r\n`],
    ['an invalid URL', 'GET http://[::1 HTTP/1.1\r\nHost: [::1\r\n\r\n'],
    ['another protocol', '\u0016\u0003\u0001\u0002\u0000\u0001'],
  ])('survives bytes that are no request: %s', async (_name, text) => {
    const socket = connect(Number(new URL(demo.url).port), '127.0.0.1');
    socket.on('error', () => {});
    socket.write(text, 'latin1');
    await new Promise((resolve) => {
      setTimeout(resolve, 100);
    });
    socket.destroy();
    expect((await fetch(`${demo.url}/health`)).status).toBe(200);
  });
});
