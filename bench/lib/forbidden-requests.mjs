import { createServer } from 'node:http';

/** Addresses of pictures that lead to this machine, in the ways in which they can be spelled. */
function inwardAddresses(port, slowPort) {
  const hosts = [
    ...['localhost', 'LOCALHOST', 'localhost.', '127.0.0.1', '127.1', '127.0.1', '2130706433', '0x7f000001'],
    ...['0x7f.1', '0177.0.0.1', '0.0.0.0', '0', '127.8.8.8', '[::1]', '[::]', '[::ffff:127.0.0.1]'],
    ...['[::ffff:7f00:1]', '[0:0:0:0:0:0:0:1]', '169.254.169.254', '10.0.0.1', '192.168.0.1', '[fe80::1]'],
  ];
  return [
    ...hosts.map((host) => `http://${host}:${port}/a.png`),
    // These names and this port are allowed, but not where they lead.
    'http://localhost/a.png',
    'https://localhost/a.png',
    `http://127.0.0.1:${slowPort}/redirect`,
    `http://127.0.0.1:${slowPort}@127.0.0.1:${port}/a.png`,
    `http://user:password@127.0.0.1:${slowPort}/a.png`,
    `http://127.0.0.1:${slowPort}#@127.0.0.1:${port}/a.png`,
    ...[
      'file:///etc/passwd',
      'ftp://127.0.0.1/a',
      'gopher://127.0.0.1/a',
      'data:text/html,a',
      'javascript:1',
    ],
  ];
}

/** Two hosts on this machine: one that is allowed and never answers, and one that nothing may reach. */
export async function startHosts() {
  let reached = 0;
  const canary = createServer((_request, response) => {
    reached++;
    response.end();
  });
  const slow = createServer((request, response) => {
    const port = canary.address().port;
    if (request.url === '/redirect') {
      response.writeHead(302, { location: `http://127.0.0.1:${port}/a.png` }).end();
    } else if (request.url !== '/slow.png') response.writeHead(404).end();
  });
  for (const server of [canary, slow]) await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = () => {
    for (const server of [canary, slow]) {
      server.closeAllConnections();
      server.close();
    }
  };
  return { port: canary.address().port, slowPort: slow.address().port, reached: () => reached, close };
}

/** Arguments of a server that allows the slow host, and a name that leads to this machine. */
export function imageHosts({ slowPort }) {
  return ['--allow-image-host', `127.0.0.1:${slowPort}`, '--allow-image-host', 'localhost'];
}

const QUESTION = { model: 'demo', max_tokens: 2, messages: [{ role: 'user', content: 'Hello' }] };

function pictureRequest(url) {
  const content = [{ type: 'image_url', image_url: { url } }];
  return {
    path: '/v1/chat/completions',
    body: JSON.stringify({ ...QUESTION, messages: [{ role: 'user', content }] }),
  };
}

/** Requests that reach for what they may not have; each attack has one status. */
export function forbiddenRequests({ port, slowPort }, ownPort) {
  const plain = { path: '/v1/chat/completions', body: JSON.stringify(QUESTION) };
  const withHeader = (name) => (value) => ({ ...plain, headers: { [name]: value } });
  const addresses = inwardAddresses(port, slowPort);
  const hosts = [
    'evil.example',
    `evil.example:${ownPort}`,
    'localhost.evil.example',
    '127.0.0.1.evil.example',
  ];
  const origins = ['http://evil.example', 'null', 'http://localhost.evil.example', 'file://'];
  return [
    {
      name: `${addresses.length} pictures on private hosts`,
      expected: [400],
      requests: () => addresses.map(pictureRequest),
    },
    {
      name: 'a picture on a slow host',
      expected: [400],
      isSlow: true,
      requests: () => [pictureRequest(`http://127.0.0.1:${slowPort}/slow.png`)],
    },
    { name: 'DNS rebinding: 4 hosts', expected: [421], requests: () => hosts.map(withHeader('host')) },
    { name: 'pages of 4 origins', expected: [403], requests: () => origins.map(withHeader('origin')) },
  ];
}

/** Requests to a server with a key that do not have it. */
export function keylessRequests(key) {
  const headers = [
    {},
    ...[
      '',
      'Bearer',
      'Bearer ',
      `Bearer ${key}x`,
      `Bearer ${key.slice(1)}`,
      `Bearer ${key.toUpperCase()}`,
    ].map((authorization) => ({ authorization })),
    ...[`Basic ${key}`, key, 'Bearer null', `Bearer ${'k'.repeat(8000)}`].map((authorization) => ({
      authorization,
    })),
    ...['', `${key} ${key}`, 'undefined'].map((value) => ({ 'x-api-key': value })),
  ];
  const body = JSON.stringify(QUESTION);
  const asked = headers.map((fields) => ({ path: '/v1/chat/completions', body, headers: fields }));
  const other = ['/v1/models', '/metrics', '/v1/unknown'].map((path) => ({ method: 'GET', path }));
  return [...asked, ...other, { path: '/v1/messages', body: `{"x":"${'x'.repeat(20_000_000)}"}` }];
}

/** A request that has the key. */
export function keyRequest(key) {
  return {
    path: '/v1/chat/completions',
    body: JSON.stringify(QUESTION),
    headers: { authorization: `Bearer ${key}` },
  };
}
