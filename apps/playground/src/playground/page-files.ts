import { readFile } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { Hono } from 'hono';

/**
 * Restricts the page to its own files. Attached media are data: and blob: URLs, which do not cause requests.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self'",
  "connect-src 'self'",
  "worker-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.woff2': 'font/woff2',
};

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'permissions-policy': 'microphone=(self), camera=(), geolocation=()',
};

/** Serves the built page: `/` and the files that it names. */
export function pageFiles(folder: string): Hono {
  const app = new Hono();
  app.get('/', () => fileResponse(join(folder, 'index.html'), 'no-cache'));
  // Names contain a hash of the content. With a single dot, a name cannot lead out of the folder.
  app.get('/assets/:name{[A-Za-z0-9_-]+\\.(?:js|css|svg|woff2)}', (context) =>
    fileResponse(join(folder, 'assets', context.req.param('name')), 'public, max-age=31536000, immutable'),
  );
  return app;
}

async function fileResponse(path: string, cacheControl: string): Promise<Response> {
  const bytes = await readFile(path).catch(() => null);
  if (!bytes) return new Response('Not found', { status: 404, headers: HEADERS });
  const type = TYPES[extname(path)] ?? 'application/octet-stream';
  return new Response(bytes, {
    headers: { ...HEADERS, 'content-type': type, 'cache-control': cacheControl },
  });
}
