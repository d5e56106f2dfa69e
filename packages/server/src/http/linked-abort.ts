/** An abort controller that follows another signal. */
export interface LinkedAbort {
  readonly signal: AbortSignal;
  abort(reason?: unknown): void;
  /** Stops following the other signal. */
  unlink(): void;
}

/**
 * A controller that is also aborted by `source`. `AbortSignal.any` would do the same, but Node never releases a
 * composite signal that has had a listener, nor anything the listener refers to.
 */
export function linkedAbort(source: AbortSignal): LinkedAbort {
  const controller = new AbortController();
  const follow = () => controller.abort(source.reason);
  if (source.aborted) follow();
  else source.addEventListener('abort', follow, { once: true });
  return {
    signal: controller.signal,
    abort: (reason) => controller.abort(reason),
    unlink: () => source.removeEventListener('abort', follow),
  };
}
