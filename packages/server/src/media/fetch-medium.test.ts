import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fetchMedium } from './fetch-medium.js';

let server: Server;
let port: number;
let calls = 0;
beforeAll(async () => {
  server = createServer((request, response) => {
    calls++;
    if (request.url === '/image.png') response.end('picture');
    else if (request.url === '/endless') response.write('x'.repeat(5000));
    else if (request.url === '/redirect') response.writeHead(302, { location: '/image.png' }).end();
    else response.writeHead(404).end();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  port = (server.address() as AddressInfo).port;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const fetchFrom = (address: string, allowedHosts: readonly string[], timeoutMs = 2000) =>
  fetchMedium(new URL(address), {
    allowedHosts,
    limitBytes: 1000,
    timeoutMs,
    param: 'url',
    signal: new AbortController().signal,
  });

describe('fetchMedium', () => {
  it('fetches from a host that is allowed with its port', async () => {
    const bytes = await fetchFrom(`http://127.0.0.1:${port}/image.png`, [`127.0.0.1:${port}`]);
    expect(new TextDecoder().decode(bytes)).toBe('picture');
  });

  it('never connects to other hosts, nor to a private address behind an allowed name', async () => {
    const before = calls;
    const address = `http://localhost:${port}/image.png`;
    await expect(fetchFrom(address, [])).rejects.toMatchObject({ status: 400, apiCode: 'host_not_allowed' });
    await expect(fetchFrom(address, ['localhost'])).rejects.toMatchObject({ apiCode: 'host_not_allowed' });
    await expect(fetchFrom('http://localhost/image.png', ['localhost'])).rejects.toThrow('private address');
    await expect(fetchFrom(`http://a@localhost:${port}/`, [`localhost:${port}`])).rejects.toThrow(
      'user name',
    );
    expect(calls).toBe(before);
  });

  it('does not follow redirects, and limits size and time', async () => {
    const allowed = [`127.0.0.1:${port}`];
    const base = `http://127.0.0.1:${port}`;
    await expect(fetchFrom(`${base}/redirect`, allowed)).rejects.toThrow('status 302');
    await expect(fetchFrom(`${base}/missing`, allowed)).rejects.toThrow('status 404');
    await expect(fetchFrom(`${base}/endless`, allowed)).rejects.toThrow('larger than 1000 bytes');
    await expect(fetchFrom('http://127.0.0.1:1/', ['127.0.0.1:1'])).rejects.toMatchObject({
      apiCode: 'fetch_failed',
    });
  });
});
