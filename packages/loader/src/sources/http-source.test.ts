import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Answer, rangeServer, sendRange } from '../../test/range-server.js';
import { rawSafetensors } from '../../test/raw-safetensors.js';
import { openSafetensors } from '../safetensors/open-safetensors.js';

const DATA = Uint8Array.from({ length: 300_000 }, (_, index) => index % 251);
const FILE = fileWithHeader(80);

/** A file of one tensor whose header has exactly this many bytes. */
function fileWithHeader(headerBytes: number): Uint8Array {
  const text = `{"a":{"dtype":"U8","shape":[${DATA.length / 100},100],"data_offsets":[0,${DATA.length}]}}`;
  return rawSafetensors(text.padEnd(headerBytes), DATA);
}

async function failure(answer: Answer, options = {}, file = FILE) {
  const { url } = await rangeServer(file, answer);
  return openSafetensors(url, { maxRetries: 0, ...options }).then(
    (opened) =>
      opened.tensors
        .get('a')!
        .read()
        .then(
          () => null,
          (error: unknown) => error,
        ),
    (error: unknown) => error,
  );
}

describe('a server that honours ranges', () => {
  it('is asked for the header, and then only for the requested rows', async () => {
    const { url, seen } = await rangeServer(FILE);
    const { path, tensors } = await openSafetensors(url, { firstRequestBytes: 100 });
    expect(path).not.toContain('secret');
    expect(await tensors.get('a')!.readRows(2000, 2001)).toEqual(DATA.slice(200_000, 200_100));
    expect(seen.map(({ range }) => range)).toEqual(['bytes=0-99', 'bytes=200088-200187']);
  });

  it('reads a whole tensor without requesting known bytes again', async () => {
    const { url, seen } = await rangeServer(FILE);
    const bytes = await (await openSafetensors(url)).tensors.get('a')!.read();
    expect(Buffer.compare(bytes, DATA)).toBe(0);
    expect(seen.map(({ range }) => range)).toEqual(['bytes=0-131071', 'bytes=131072-300087']);
  });

  // Row 32 of the table of hostile inputs: off by one at the end of the first request.
  it.each([-2, -1, 0, 1, 2])(
    'reads a header that ends %i bytes from the first request',
    async (difference) => {
      const file = fileWithHeader(1000 - 8 + difference);
      const { url, seen } = await rangeServer(file);
      const { tensors } = await openSafetensors(url, { firstRequestBytes: 1000 });
      expect(tensors.get('a')!.range.offsetBytes).toBe(1000 + difference);
      expect(seen.map(({ range }) => range)).toEqual(
        difference > 0 ? ['bytes=0-999', `bytes=1000-${999 + difference}`] : ['bytes=0-999'],
      );
    },
  );

  it('may request only the length', async () => {
    const { url, seen } = await rangeServer(FILE);
    await openSafetensors(url, { firstRequestBytes: 8 });
    expect(seen.map(({ range }) => range)).toEqual(['bytes=0-7', 'bytes=8-87']);
  });

  it('reports errors of the file itself', async () => {
    for (const [file, rule] of [
      [new Uint8Array(0), 'HeaderTooSmall'],
      [new TextEncoder().encode('<!doctype html><html></html>'), 'NotSafetensors'],
      [FILE.slice(0, -1), 'MetadataIncompleteBuffer'],
    ] as const) {
      const { url } = await rangeServer(file, (response, begin, end) => {
        if (file.length > 0) return sendRange(response, file, begin, end);
        response.writeHead(416, { 'content-range': 'bytes */0' }).end();
      });
      await expect(openSafetensors(url)).rejects.toMatchObject({ code: 'CORRUPT_FILE', rule });
    }
  });

  it('accepts a whole file that is no longer than the requested range', async () => {
    const small = rawSafetensors('{"a":{"dtype":"U8","shape":[2],"data_offsets":[0,2]}}', DATA.slice(0, 2));
    const { url } = await rangeServer(small, (response) => {
      response.writeHead(200, { 'content-length': small.length }).end(small);
    });
    expect([...(await (await openSafetensors(url)).tensors.get('a')!.read())]).toEqual([0, 1]);
  });
});

describe('a server that does not', () => {
  const withRange = (range: string): Answer => {
    return (response, begin, end) => sendRange(response, FILE, begin, end, { 'content-range': range });
  };

  it.each<[string, Answer]>([
    ['ignores the range', (response) => void response.writeHead(200).end(FILE)],
    ['sends another position', withRange('bytes 8-131079/300088')],
    ['sends another length', withRange('bytes 0-131070/300088')],
    ['hides the size', withRange('bytes 0-131071/*')],
    ['counts other units', withRange('rows 0-131071/300088')],
    ['writes an unusable size', withRange('bytes 0-131071/99999999999999999999')],
    [
      'states no range',
      (response, begin, end) => void response.writeHead(206).end(FILE.subarray(begin, end)),
    ],
    [
      'compresses',
      (response, begin, end) => {
        const range = `bytes ${begin}-${end - 1}/${FILE.length}`;
        response.writeHead(206, { 'content-range': range, 'content-encoding': 'gzip' });
        response.end(gzipSync(FILE.subarray(begin, end)));
      },
    ],
    ['has nothing there', (response) => void response.writeHead(416).end()],
    [
      'sends a body that is too long',
      (response, begin, end) => {
        response.writeHead(206, { 'content-range': `bytes ${begin}-${end - 1}/${FILE.length}` });
        response.end(FILE.subarray(begin, end + 1));
      },
    ],
  ])('is detected: it %s', async (_, answer) => {
    expect(await failure(answer)).toMatchObject({ code: 'DOWNLOAD', rule: 'RangeNotHonoured' });
  });

  it('lies about the size of the file', async () => {
    const error = await failure(withRange('bytes 0-131071/131072'));
    expect(error).toMatchObject({ code: 'CORRUPT_FILE', rule: 'MetadataIncompleteBuffer' });
  });

  it.each([
    [401, 'Unauthorized'],
    [403, 'Unauthorized'],
    [404, 'NotFound'],
    [429, 'RateLimited'],
    [500, 'ServerError'],
    [204, 'UnexpectedStatus'],
  ])('answers %i: %s, without the secrets of the address', async (status, rule) => {
    const error = await failure((response) => void response.writeHead(status).end());
    expect(error).toMatchObject({ code: 'DOWNLOAD', rule, status });
    expect(String(error)).not.toContain('secret');
  });

  it('breaks the connection', async () => {
    const error = await failure((response, begin, end) => {
      response.writeHead(206, { 'content-range': `bytes ${begin}-${end - 1}/${FILE.length}` });
      response.write(FILE.subarray(begin, begin + 9), () => response.destroy());
    });
    expect(error).toMatchObject({ code: 'DOWNLOAD', rule: 'Network' });
  });

  it('stalls', async () => {
    const error = await failure(() => {}, { stallTimeoutMs: 50 });
    expect(error).toMatchObject({ rule: 'Network', reason: 'the server sent nothing for 50 ms' });
  });

  it.each([
    ['another tag', { etag: '"2"' }, 'FileChanged'],
    ['another size', { 'content-range': 'bytes 131072-300087/300089' }, 'SizeMismatch'],
    ['another range', { 'content-range': 'bytes 131072-300086/300088' }, 'RangeNotHonoured'],
  ])('gives the second part %s', async (_, headers, rule) => {
    const error = await failure((response, begin, end) =>
      sendRange(response, FILE, begin, end, begin > 0 ? headers : {}),
    );
    expect(error).toMatchObject({ rule });
  });

  it('ignores the range of the second request', async () => {
    const error = await failure((response, begin, end) => {
      if (begin === 0) return sendRange(response, FILE, begin, end);
      response.writeHead(200, { 'content-length': FILE.length }).end(FILE);
    });
    expect(error).toMatchObject({ rule: 'RangeNotHonoured' });
  });
});

describe('temporary failures', () => {
  it.each([1, 2])('are retried, here %i times', async (failures) => {
    const { url, seen } = await rangeServer(FILE, (response, begin, end) => {
      const isSecondPart = begin > 0 && seen.length > 1;
      if (isSecondPart && seen.length < 2 + failures) return void response.writeHead(503).end();
      sendRange(response, FILE, begin, end);
    });
    const { tensors } = await openSafetensors(url, { retryDelayMs: 1 });
    expect(Buffer.compare(await tensors.get('a')!.read(), DATA)).toBe(0);
    expect(seen).toHaveLength(2 + failures);
  });

  it('are finally reported; other failures are not retried', async () => {
    for (const [status, rule, count] of [
      [500, 'ServerError', 4],
      [429, 'RateLimited', 4],
      [404, 'NotFound', 1],
    ] as const) {
      const { url, seen } = await rangeServer(FILE, (response) => void response.writeHead(status).end());
      await expect(openSafetensors(url, { maxRetries: 3, retryDelayMs: 1 })).rejects.toMatchObject({ rule });
      expect(seen).toHaveLength(count);
    }
  });
});

describe('redirects and tokens', () => {
  it('does not send the token to its own origin after a redirect from another one', async () => {
    const own = await rangeServer(FILE, (response, begin, end, request) => {
      if (request.url === '/back') return sendRange(response, FILE, begin, end);
      response.writeHead(302, { location: other.url.href }).end();
    });
    const other = await rangeServer(FILE, (response) => {
      response.writeHead(302, { location: new URL('/back', own.url).href }).end();
    });
    await openSafetensors(own.url, { token: 'hf_x' });
    expect(own.seen.map(({ authorization }) => authorization)).toEqual(['Bearer hf_x', undefined]);
  });

  it('follows a redirect to another origin without the token, and reports it', async () => {
    const target = await rangeServer(FILE);
    const source = await rangeServer(FILE, (response) => {
      response.writeHead(302, { location: target.url.href }).end();
    });
    const redirects: [string, string][] = [];
    const file = await openSafetensors(source.url, {
      token: 'hf_x',
      onRedirect: (from, to) => redirects.push([from, to]),
    });
    expect(file.tensors.size).toBe(1);
    expect(source.seen.map(({ authorization }) => authorization)).toEqual(['Bearer hf_x']);
    expect(target.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
    expect(redirects).toEqual([[source.url.href, target.url.href]]);
  });

  it('keeps the token within the origin', async () => {
    const { url, seen } = await rangeServer(FILE, (response, begin, end, request) => {
      if (request.url === '/final') return sendRange(response, FILE, begin, end);
      response.writeHead(307, { location: '/final' }).end();
    });
    await openSafetensors(url, { token: 'hf_x', redirects: 'same-origin' });
    expect(seen.map(({ authorization }) => authorization)).toEqual(['Bearer hf_x', 'Bearer hf_x']);
  });

  it.each([
    ['refuse', '/final'],
    ['same-origin', 'http://localhost:9/'],
    ['follow', 'file:///etc/passwd'],
    ['follow', 'http://['],
    ['follow', '/model.safetensors'],
  ] as const)('with %s, does not go to %s', async (redirects, location) => {
    const error = await failure((response) => void response.writeHead(302, { location }).end(), {
      redirects,
    });
    expect(error).toMatchObject({ code: 'DOWNLOAD', rule: 'BadRedirect' });
  });

  it('refuses a token that would add headers, and does not print it', async () => {
    const error = await failure(() => {}, { token: 'hf_x\r\nx: y' });
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT', argument: 'token' });
    expect(String(error)).not.toContain('hf_x');
  });
});

describe('abort', () => {
  it('ends the pause before a retry', async () => {
    const controller = new AbortController();
    const { url } = await rangeServer(FILE, (response) => {
      response.writeHead(503).end();
      setTimeout(() => controller.abort('enough'), 50);
    });
    const options = { signal: controller.signal, retryDelayMs: 3_600_000 };
    await expect(openSafetensors(url, options)).rejects.toBe('enough');
  });

  it('ends a request with the reason of the signal', async () => {
    const controller = new AbortController();
    const { url } = await rangeServer(FILE, () => controller.abort('enough'));
    await expect(openSafetensors(url, { signal: controller.signal })).rejects.toBe('enough');
    await expect(openSafetensors(url, { signal: controller.signal })).rejects.toBe('enough');
  });
});
