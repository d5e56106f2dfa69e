import { setTimeout as delay } from 'node:timers/promises';
import { DownloadError } from './download-error.js';
import type { HubSettings } from './hub-options.js';

/** A response whose headers have arrived; its body is read in pieces, and fails if the server goes silent. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: Headers;
  /** Address after all redirects. */
  readonly url: string;
  /** The body; throws a `DownloadError` (Network) when the connection breaks or stalls. */
  chunks(): AsyncGenerator<Uint8Array>;
  /** Closes the connection without reading the rest. */
  cancel(): Promise<void>;
}

const MAX_REDIRECTS = 10;
/** Longest pause that a server may ask for. */
const MAX_RETRY_AFTER_MS = 120_000;
const MAX_DELAY_MS = 30_000;
/** Retries while the server has never answered: more often, this machine is offline. */
const UNREACHED_RETRIES = 1;
/** Error codes of a look-up that fails. */
const UNKNOWN_HOST: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

/** Requests with redirects, a time limit for silence, and a token that stays at its own origin. */
export class HttpClient {
  #hasAnswered = false;

  constructor(readonly settings: HubSettings) {}

  /**
   * Sends one GET request and follows redirects.
   *
   * @returns an answer with status 200, 206 or 416
   * @throws DownloadError for every other status; the signal's reason
   */
  async get(url: string, headers: Readonly<Record<string, string>> = {}): Promise<HttpAnswer> {
    let at = url;
    // Once a redirect has led to another origin, the token is not sent any more.
    let isTrusted = true;
    for (let hops = 0; hops <= MAX_REDIRECTS; hops++) {
      isTrusted &&= new URL(at).origin === new URL(this.settings.endpoint).origin;
      const answer = await this.send(at, headers, isTrusted);
      const location = answer.headers.get('location');
      if (answer.status >= 300 && answer.status < 400 && location !== null) {
        await answer.cancel();
        at = nextAddress(at, location);
        continue;
      }
      if (answer.status === 200 || answer.status === 206 || answer.status === 416) return answer;
      await answer.cancel();
      throw statusError(answer, this.settings.token !== null);
    }
    throw new DownloadError({ rule: 'BadRedirect', url, reason: `more than ${MAX_REDIRECTS} redirects` });
  }

  /**
   * Runs `attempt` until it succeeds, with growing pauses after transient failures.
   *
   * @param madeProgress asked after a failure: true restarts the count of attempts
   */
  async retry<T>(attempt: () => Promise<T>, madeProgress: () => boolean = () => false): Promise<T> {
    const { signal, maxRetries, retryDelayMs } = this.settings;
    for (let failures = 0; ; ) {
      signal?.throwIfAborted();
      try {
        return await attempt();
      } catch (error) {
        signal?.throwIfAborted();
        failures = madeProgress() ? 1 : failures + 1;
        const limit = this.#hasAnswered ? maxRetries : Math.min(maxRetries, UNREACHED_RETRIES);
        if (!isPassing(error) || failures > limit) throw error;
        const asked = error instanceof RetryLaterError ? error.retryAfterMs : null;
        const pause = asked ?? Math.min(retryDelayMs * 2 ** (failures - 1), MAX_DELAY_MS);
        await delay(pause, undefined, { signal });
      }
    }
  }

  private async send(
    url: string,
    headers: Readonly<Record<string, string>>,
    isTrusted: boolean,
  ): Promise<HttpAnswer> {
    const { settings } = this;
    const watch = new StallWatch(settings.stallTimeoutMs, settings.signal);
    const sent: Record<string, string> = { 'accept-encoding': 'identity', ...headers };
    if (isTrusted && settings.token !== null) sent.authorization = `Bearer ${settings.token}`;
    let response: Response;
    try {
      response = await fetch(url, { headers: sent, redirect: 'manual', signal: watch.signal });
    } catch (cause) {
      throw watch.explain(url, cause);
    }
    this.#hasAnswered = true;
    const { body } = response;
    return {
      status: response.status,
      headers: response.headers,
      url,
      async *chunks() {
        try {
          if (body === null) return;
          for await (const chunk of body) {
            watch.touch();
            yield chunk as Uint8Array;
          }
        } catch (cause) {
          throw watch.explain(url, cause);
        } finally {
          watch.stop();
        }
      },
      async cancel() {
        watch.stop();
        await body?.cancel().catch(() => {});
      },
    };
  }
}

/** Ends a request when nothing has arrived for a while, or when the caller gives up. */
class StallWatch {
  private readonly controller = new AbortController();
  private readonly timer: NodeJS.Timeout;
  private isStalled = false;
  private readonly onAbort = (): void => this.controller.abort();

  constructor(
    private readonly timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    this.timer = setTimeout(() => {
      this.isStalled = true;
      this.controller.abort();
    }, timeoutMs);
    outer?.addEventListener('abort', this.onAbort);
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  touch(): void {
    this.timer.refresh();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener('abort', this.onAbort);
  }

  /** What a failure of the request means. */
  explain(url: string, cause: unknown): unknown {
    this.stop();
    if (this.outer?.aborted) return this.outer.reason;
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const reason = this.isStalled
      ? `the server sent nothing for ${this.timeoutMs} ms`
      : `the connection failed: ${connectionReason(inner)}`;
    return new DownloadError({ rule: 'Network', url, reason, cause });
  }
}

function connectionReason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code, hostname } = error as NodeJS.ErrnoException & { hostname?: string };
  if (!UNKNOWN_HOST.has(code)) return error.message;
  return `the address of ${hostname} cannot be found; is this machine connected to the network?`;
}

/** A transient refusal, with the pause that the server asked for. */
class RetryLaterError extends DownloadError {
  readonly retryAfterMs: number | null;

  constructor(fields: ConstructorParameters<typeof DownloadError>[0], retryAfterMs: number | null) {
    super(fields);
    this.name = 'DownloadError';
    this.retryAfterMs = retryAfterMs;
  }
}

function isPassing(error: unknown): boolean {
  return error instanceof RetryLaterError || (error instanceof DownloadError && error.rule === 'Network');
}

function nextAddress(from: string, location: string): string {
  const next = URL.canParse(location, from) ? new URL(location, from) : null;
  const isSafe = next?.protocol === 'https:' || (next?.protocol === 'http:' && from.startsWith('http:'));
  if (next !== null && isSafe) return next.href;
  throw new DownloadError({
    rule: 'BadRedirect',
    url: from,
    reason: `it leads to ${JSON.stringify(location.split('?')[0])}, expected an address as safe as its own`,
  });
}

function statusError({ status, url, headers }: HttpAnswer, hasToken: boolean): DownloadError {
  const fail = (rule: DownloadError['rule'], reason: string): DownloadError =>
    new DownloadError({ rule, url, status, reason: `${reason} (status ${status})` });
  if (status === 401 || status === 403) {
    const advice = hasToken
      ? 'the token is not accepted, or has no access: accept the terms of a gated model on its page'
      : 'the repository does not exist, is private or is gated: pass a token, or set HF_TOKEN';
    return fail('Unauthorized', advice);
  }
  if (status === 404) return fail('NotFound', 'the repository, revision or file does not exist');
  if (status !== 429 && status < 500) return fail('UnexpectedStatus', 'expected status 200 or 206');
  const rule = status === 429 ? 'RateLimited' : 'ServerError';
  const reason = `the server is ${status === 429 ? 'rate-limiting' : 'failing'}; try again later (status ${status})`;
  return new RetryLaterError({ rule, url, status, reason }, retryAfterMs(headers.get('retry-after')));
}

/** `Retry-After` in seconds or as a date. */
function retryAfterMs(header: string | null): number | null {
  if (header === null) return null;
  const ms = /^\d+$/.test(header.trim()) ? Number(header) * 1000 : Date.parse(header) - Date.now();
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS) : null;
}
