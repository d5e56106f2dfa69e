import { createHash, timingSafeEqual } from 'node:crypto';
import { RequestError } from '../errors/request-error.js';
import type { ServerSettings } from '../server-options.js';

const OWN_HOSTS = ['localhost', '127.0.0.1', '[::1]'];
/** What pages of allowed origins may send and read. */
const CORS_HEADERS = {
  'access-control-allow-methods': 'GET, POST, OPTIONS',
  'access-control-expose-headers': 'x-request-id, request-id, retry-after',
  'access-control-max-age': '600',
};

/**
 * Refuses requests that a browser was tricked into sending: by a foreign host name that resolves to this machine (DNS
 * rebinding), or by a page of another origin.
 *
 * @throws RequestError (403, 421)
 */
export function checkCaller(
  request: Request,
  { allowedHosts, allowedOrigins }: Pick<ServerSettings, 'allowedHosts' | 'allowedOrigins'>,
): void {
  const host = request.headers.get('host')?.toLowerCase() ?? new URL(request.url).host;
  const name = host.replace(/:\d+$/, '');
  const isKnown = [...OWN_HOSTS, ...allowedHosts].some(
    (known) => known === '*' || known === name || known === host,
  );
  if (!isKnown) {
    const message = `The host "${host}" is not allowed: add it to the server's allowedHosts`;
    throw new RequestError({ status: 421, message, apiCode: 'host_not_allowed' });
  }
  const origin = request.headers.get('origin');
  if (origin === null || allowedOrigins.includes(origin) || isSame(origin, host)) return;
  const message = `Pages from ${origin} are not allowed: add the origin to the server's allowedOrigins`;
  throw new RequestError({ status: 403, message, apiCode: 'origin_not_allowed' });
}

/** Headers that let a page of an allowed origin read the answer. */
export function corsHeaders(request: Request, { allowedOrigins }: ServerSettings): Record<string, string> {
  const origin = request.headers.get('origin');
  if (origin === null || !allowedOrigins.includes(origin)) return {};
  // Clients add their own headers, such as x-stainless-os; a page of an allowed origin may send any.
  const asked = request.headers.get('access-control-request-headers');
  return {
    'access-control-allow-origin': origin,
    vary: 'origin',
    ...CORS_HEADERS,
    ...(asked !== null && { 'access-control-allow-headers': asked }),
  };
}

/** @throws RequestError (401) if the server has a key and the request does not send it */
export function checkKey(request: Request, { apiKey }: Pick<ServerSettings, 'apiKey'>): void {
  if (apiKey === null) return;
  const bearer = /^bearer\s+(.+)$/i.exec(request.headers.get('authorization') ?? '')?.[1];
  const given = bearer ?? request.headers.get('x-api-key') ?? '';
  if (timingSafeEqual(digest(given), digest(apiKey))) return;
  throw new RequestError({
    status: 401,
    type: 'authentication_error',
    message: 'Wrong or missing API key: send it as "Authorization: Bearer <key>" or as "x-api-key"',
    apiCode: 'invalid_api_key',
  });
}

function isSame(origin: string, host: string): boolean {
  return origin === `http://${host}` || origin === `https://${host}`;
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
