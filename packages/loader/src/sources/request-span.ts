import { DownloadError, type DownloadRule } from '../hub/download-error.js';
import { allocateBytes } from './allocate-bytes.js';
import { followRedirects, type RedirectOptions } from './follow-redirects.js';
import { StallGuard } from './stall-guard.js';

/** How to talk to the server. */
export interface HttpOptions extends RedirectOptions {
  /** Aborts all reading from the address. */
  readonly signal?: AbortSignal;
  /** How long a server may send nothing; default 30,000 ms. */
  readonly stallTimeoutMs?: number;
  /** How often to retry a request after a transient failure (network, 429, 5xx); default 2. */
  readonly maxRetries?: number;
  /** Pause before the first retry, doubled each time; default 250 ms. */
  readonly retryDelayMs?: number;
}

/** Which bytes to request; `totalBytes` of the file is null before the first answer. */
export interface WantedSpan {
  readonly begin: number;
  readonly end: number;
  readonly totalBytes: number | null;
}

/** Bytes of a file, and which file they are from. */
export interface Span {
  readonly bytes: Uint8Array;
  readonly totalBytes: number;
  /** Entity tag, or date of the last change; null when the server names neither. */
  readonly version: string | null;
}

const STALL_TIMEOUT_MS = 30_000;
const MAX_RETRIES = 2;
const RETRY_DELAY_MS = 250;
const PASSING: readonly DownloadRule[] = ['Network', 'RateLimited', 'ServerError'];

/** Waits, but no longer than until the signal is aborted. */
function pause(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal?.addEventListener('abort', end);
  });
}

/** `requestOnce`, retried after transient failures. */
export async function requestSpan(url: string, wanted: WantedSpan, options: HttpOptions): Promise<Span> {
  const { maxRetries = MAX_RETRIES, retryDelayMs = RETRY_DELAY_MS, signal } = options;
  for (let failures = 0; ; failures++) {
    try {
      return await requestOnce(url, wanted, options);
    } catch (error) {
      const mayPass = error instanceof DownloadError && PASSING.includes(error.rule);
      if (!mayPass || failures >= maxRetries) throw error;
      await pause(retryDelayMs * 2 ** failures, signal);
      signal?.throwIfAborted();
    }
  }
}

/**
 * One range request, every promise of the answer checked before a byte of it is used.
 *
 * If the span was requested before the size was known, it ends with the file. A status 200 is accepted only for a whole
 * file that fits into the span.
 */
async function requestOnce(url: string, wanted: WantedSpan, options: HttpOptions): Promise<Span> {
  const { begin, end } = wanted;
  const guard = new StallGuard(url, options.stallTimeoutMs ?? STALL_TIMEOUT_MS, options.signal);
  try {
    const range = `bytes=${begin}-${end - 1}`;
    const response = await followRedirects(
      url,
      { range, 'accept-encoding': 'identity' },
      guard.signal,
      options,
    );
    guard.touch();
    const fail = (rule: DownloadRule, reason: string): never => {
      throw new DownloadError({ rule, url, status: response.status, reason });
    };
    try {
      const totalBytes = checkAnswer(response, wanted, fail);
      const length = Math.min(end, totalBytes) - begin;
      const bytes = allocateBytes(length, url);
      await fill(bytes, response, guard, fail);
      const version = response.headers.get('etag') ?? response.headers.get('last-modified');
      return { bytes, totalBytes, version };
    } finally {
      await cancel(response);
    }
  } catch (cause) {
    throw guard.explain(cause);
  } finally {
    guard.stop();
  }
}

type Fail = (rule: DownloadRule, reason: string) => never;

/** Checks status and headers, and gives the size of the whole file. */
function checkAnswer(response: Response, { begin, end, totalBytes }: WantedSpan, fail: Fail): number {
  const { status, headers } = response;
  checkStatus(status, fail);
  const encoding = headers.get('content-encoding') ?? 'identity';
  if (encoding !== 'identity') {
    fail('RangeNotHonoured', `the server compresses the file (${encoding}); its ranges cannot be used`);
  }
  if (status === 416) return emptyFile(headers, totalBytes, fail);
  if (status === 200) return wholeFile(headers, { begin, end, totalBytes }, fail);
  const range = headers.get('content-range');
  const [, first, last, total] = /^bytes (\d{1,15})-(\d{1,15})\/(\d{1,15})$/i.exec(range ?? '') ?? [];
  if (total === undefined) {
    const received = range === null ? 'none that may be read' : JSON.stringify(range);
    const advice = 'another origin must list Content-Range in Access-Control-Expose-Headers';
    return fail(
      'RangeNotHonoured',
      `expected a Content-Range with the size, received ${received}; ${advice}`,
    );
  }
  const size = Number(total);
  const isAsked = Number(first) === begin && Number(last) === Math.min(end, size) - 1 && begin < size;
  if (!isAsked) fail('RangeNotHonoured', `asked for bytes ${begin}-${end - 1}, received ${range}`);
  if (totalBytes !== null && size !== totalBytes) {
    fail('SizeMismatch', `the file had ${totalBytes} bytes when it was opened, and now has ${size}`);
  }
  return size;
}

function checkStatus(status: number, fail: Fail): void {
  if (status === 200 || status === 206 || status === 416) return;
  if (status === 401 || status === 403) fail('Unauthorized', 'a token is missing, wrong or lacks access');
  if (status === 404 || status === 410) fail('NotFound', 'the file does not exist');
  if (status === 429) fail('RateLimited', 'the server is rate-limiting; try again later');
  if (status >= 500) fail('ServerError', 'the server is failing; try again later');
  fail('UnexpectedStatus', `expected status 206, received ${status}`);
}

/** An empty file has no range that could be honoured. */
function emptyFile(headers: Headers, totalBytes: number | null, fail: Fail): number {
  if (totalBytes === null && headers.get('content-range') === 'bytes */0') return 0;
  return fail('RangeNotHonoured', 'the server says that the requested part is outside the file');
}

/** Servers may ignore ranges; a response that is short enough to be the whole file anyway does no harm. */
function wholeFile(headers: Headers, { begin, end, totalBytes }: WantedSpan, fail: Fail): number {
  const length = headers.get('content-length');
  const size = length !== null && /^\d{1,15}$/.test(length) ? Number(length) : null;
  if (begin === 0 && size !== null && size <= end && (totalBytes === null || size === totalBytes))
    return size;
  const advice = 'download the file, or pass its content as a Blob';
  return fail('RangeNotHonoured', `the server ignores ranges and sends the whole file: ${advice}`);
}

/** Fills `bytes` with the body, which must be exactly as long. */
async function fill(bytes: Uint8Array, response: Response, guard: StallGuard, fail: Fail): Promise<void> {
  if (bytes.length === 0 || response.body === null) return;
  const reader = response.body.getReader();
  let filled = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      guard.touch();
      if (filled + value.length > bytes.length) {
        fail(
          'RangeNotHonoured',
          `the body is longer than the ${bytes.length} bytes that its headers announce`,
        );
      }
      bytes.set(value, filled);
      filled += value.length;
    }
  } finally {
    reader.releaseLock();
  }
  if (filled < bytes.length) fail('Network', `the connection broke after ${filled} of ${bytes.length} bytes`);
}

async function cancel(response: Response): Promise<void> {
  // Nothing can be done about an answer that cannot even be cancelled.
  if (response.body !== null && !response.body.locked) await response.body.cancel().catch(() => {});
}
