import { setImmediate } from 'node:timers/promises';

/** Longest stretch of work between two turns of the event loop. */
const SLICE_MS = 10;

/** Shares the event loop: long work calls `pause` often, and now and then other callbacks get their turn. */
export class EventLoopSlice {
  #begin = performance.now();
  readonly #signal: AbortSignal | undefined;

  constructor(signal?: AbortSignal) {
    this.#signal = signal;
  }

  /** True when it is time to call `pause`. */
  get isOver(): boolean {
    return performance.now() - this.#begin > SLICE_MS;
  }

  /** Lets other callbacks run; throws the reason of the signal when it was aborted. */
  async pause(): Promise<void> {
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#begin = performance.now();
  }
}
