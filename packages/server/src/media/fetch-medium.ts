import { lookup } from 'node:dns/promises';
import http from 'node:http';
import https from 'node:https';
import { isIP } from 'node:net';
import { badParameter, RequestError } from '../errors/request-error.js';
import { linkedAbort } from '../http/linked-abort.js';
import { isPublicAddress } from './public-address.js';

/** Options of `fetchMedium`. */
export interface FetchMediumOptions {
  /** Allowed hosts, as `host` or `host:port`. */
  readonly allowedHosts: readonly string[];
  readonly limitBytes: number;
  readonly timeoutMs: number;
  readonly param: string;
  /** Called with the size of each chunk; an error that it throws ends the download. */
  readonly onBytes?: (bytes: number) => void;
  readonly signal: AbortSignal;
}

/**
 * Fetches a medium from an allowed host. Names that resolve to private addresses are refused, unless the list has the
 * exact `host:port`. The connection goes to the address that was checked, so a name cannot change in between. Redirects
 * are not followed.
 *
 * @throws RequestError: 400 for a host that is not allowed or if the download fails, 413 for a medium that is too large
 */
export async function fetchMedium(url: URL, options: FetchMediumOptions): Promise<Uint8Array> {
  const { allowedHosts, param } = options;
  const port = url.port || (url.protocol === 'https:' ? '443' : '80');
  const host = url.hostname.toLowerCase();
  const isNamed = allowedHosts.includes(`${host}:${port}`);
  const hasUsualPort = url.port === '' && allowedHosts.includes(host);
  if (!isNamed && !hasUsualPort) {
    const hint = 'send the medium as a data: URL, or add the host to allowedImageHosts';
    throw badParameter(param, `Fetching from ${url.host} is not allowed: ${hint}`, 'host_not_allowed');
  }
  if (url.username !== '' || url.password !== '') {
    throw badParameter(param, 'URLs with a user name or password are not fetched', 'invalid_url');
  }
  const address = await addressOf(host.replace(/^\[|\]$/g, ''), param);
  // An entry with a port is explicit enough to allow a private address.
  if (!isNamed && !isPublicAddress(address)) {
    throw badParameter(
      param,
      `${url.host} resolves to a private address, which is not allowed`,
      'host_not_allowed',
    );
  }
  const { signal, abort, unlink } = linkedAbort(options.signal);
  const timer = setTimeout(
    () => abort(new DOMException('the download took too long', 'TimeoutError')),
    options.timeoutMs,
  );
  try {
    return await download(url, address, { ...options, signal });
  } catch (cause) {
    options.signal.throwIfAborted();
    if (cause instanceof RequestError) throw cause;
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw badParameter(param, `Fetching the medium from ${url.host} failed: ${reason}`, 'fetch_failed');
  } finally {
    clearTimeout(timer);
    unlink();
  }
}

async function addressOf(host: string, param: string): Promise<string> {
  if (isIP(host) !== 0) return host;
  try {
    return (await lookup(host)).address;
  } catch {
    throw badParameter(param, `The host ${host} was not found`, 'fetch_failed');
  }
}

function download(url: URL, address: string, options: FetchMediumOptions): Promise<Uint8Array> {
  const { limitBytes, signal, param, onBytes } = options;
  return new Promise((resolve, reject) => {
    const client = url.protocol === 'https:' ? https : http;
    const request = client.get(
      url,
      {
        signal,
        headers: { accept: 'image/*, audio/*, video/*', 'user-agent': 'markbase-server' },
        lookup: (_host, { all }, done) => {
          const family = isIP(address);
          if (all) done(null, [{ address, family }]);
          else done(null, address, family);
        },
      },
      (response) => {
        if (response.statusCode !== 200) {
          response.destroy();
          const message = `Fetching the medium from ${url.host} failed: status ${response.statusCode}`;
          return reject(badParameter(param, message, 'fetch_failed'));
        }
        const chunks: Buffer[] = [];
        let total = 0;
        response.on('data', (chunk: Buffer) => {
          try {
            total += chunk.length;
            if (total > limitBytes) {
              throw mediumTooLarge(param, `The medium from ${url.host} is larger than ${limitBytes} bytes`);
            }
            onBytes?.(chunk.length);
            chunks.push(chunk);
          } catch (error) {
            response.destroy();
            reject(error);
          }
        });
        response.on('end', () => resolve(Buffer.concat(chunks)));
        response.on('error', reject);
      },
    );
    request.on('error', reject);
  });
}

/** The error for a medium with too many bytes: status 413. */
export function mediumTooLarge(param: string, message: string): RequestError {
  return new RequestError({ status: 413, message, param, apiCode: 'media_too_large' });
}
