import { InvalidArgumentError } from '@markbase/core';
import { DownloadError } from '../hub/download-error.js';

/** Which redirects to follow, and who may see the token. */
export interface RedirectOptions {
  /** Sent as `Authorization: Bearer` to the origin of the address, and to no other. */
  readonly token?: string;
  /**
   * follow (default): up to 5, never from https to http; same-origin: only within the origin; refuse: none.
   */
  readonly redirects?: 'follow' | 'same-origin' | 'refuse';
  /** Called with every redirect before it is followed, including its query, which may hold a signature. */
  readonly onRedirect?: (from: string, to: string) => void;
}

const MAX_REDIRECTS = 5;

/**
 * Sends a GET request and follows redirects one by one.
 *
 * Browsers do not show where a redirect leads. There, the browser follows it if nothing secret is sent and any origin is
 * allowed; otherwise it is refused.
 *
 * @throws DownloadError (BadRedirect)
 */
export async function followRedirects(
  url: string,
  headers: Readonly<Record<string, string>>,
  signal: AbortSignal,
  options: RedirectOptions,
): Promise<Response> {
  const { token, redirects = 'follow', onRedirect } = options;
  const { origin } = new URL(url);
  let at = url;
  let isOwnOrigin = true;
  for (let count = 0; count <= MAX_REDIRECTS; count++) {
    const sent: Record<string, string> = { ...headers };
    // After leaving the origin once, the token is not sent again even on return: another server chose that address.
    isOwnOrigin &&= new URL(at).origin === origin;
    if (token !== undefined && isOwnOrigin) sent.authorization = `Bearer ${checkedToken(token)}`;
    const response = await fetch(at, { headers: sent, redirect: 'manual', signal });
    if (response.type === 'opaqueredirect') {
      if (token === undefined && redirects === 'follow') return fetch(at, { headers: sent, signal });
      throw refusal(at, 'a browser does not show where it leads: pass the final address');
    }
    const location = response.headers.get('location');
    if (response.status < 300 || response.status > 399 || location === null) return response;
    await response.body?.cancel();
    const next = checkedTarget(at, location, origin, redirects);
    onRedirect?.(at, next);
    at = next;
  }
  throw refusal(url, `more than ${MAX_REDIRECTS} redirects`);
}

function checkedTarget(
  from: string,
  location: string,
  origin: string,
  redirects: RedirectOptions['redirects'],
): string {
  const next = URL.canParse(location, from) ? new URL(location, from) : null;
  const isSafe = next?.protocol === 'https:' || (next?.protocol === 'http:' && from.startsWith('http:'));
  if (next === null || !isSafe) throw refusal(from, 'it does not lead to an address as safe as its own');
  if (redirects === 'refuse') throw refusal(from, `it leads to ${next.origin}; redirects are refused`);
  if (redirects === 'same-origin' && next.origin !== origin) {
    throw refusal(from, `it leads to another origin, ${next.origin}`);
  }
  return next.href;
}

function refusal(url: string, reason: string): DownloadError {
  return new DownloadError({ rule: 'BadRedirect', url, reason });
}

/** @throws InvalidArgumentError for a token that would break out of its header */
function checkedToken(token: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw new InvalidArgumentError({
    argument: 'token',
    expected: 'printable ASCII without spaces',
    received: '(not shown)',
  });
}
