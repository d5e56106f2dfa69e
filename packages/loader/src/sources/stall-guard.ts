import { MarkBaseError } from '@markbase/core';
import { DownloadError } from '../hub/download-error.js';

/** Ends a request when nothing has arrived for a while, or when the caller gives up; does not need Node. */
export class StallGuard {
  private readonly controller = new AbortController();
  private timer: ReturnType<typeof setTimeout>;
  private isStalled = false;
  private readonly onAbort = (): void => this.controller.abort();

  constructor(
    private readonly url: string,
    private readonly timeoutMs: number,
    private readonly outer: AbortSignal | undefined,
  ) {
    outer?.throwIfAborted();
    outer?.addEventListener('abort', this.onAbort);
    this.timer = this.start();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  /** Something arrived: restarts the clock. */
  touch(): void {
    clearTimeout(this.timer);
    this.timer = this.start();
  }

  stop(): void {
    clearTimeout(this.timer);
    this.outer?.removeEventListener('abort', this.onAbort);
  }

  /** What a failure of the request means. */
  explain(cause: unknown): unknown {
    if (this.outer?.aborted) return this.outer.reason;
    if (MarkBaseError.isInstance(cause)) return cause;
    const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
    const reason = this.isStalled
      ? `the server sent nothing for ${this.timeoutMs} ms`
      : `the connection failed: ${inner instanceof Error ? inner.message : String(inner)}`;
    return new DownloadError({ rule: 'Network', url: this.url, reason, cause });
  }

  private start(): ReturnType<typeof setTimeout> {
    return setTimeout(() => {
      this.isStalled = true;
      this.controller.abort();
    }, this.timeoutMs);
  }
}
