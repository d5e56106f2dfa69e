import { setImmediate } from 'node:timers/promises';

/** Maximum duration of work between two turns of the event loop. */
const SLICE_MS = 10;

/** Shares the event loop: long work checks `isOver` often and then calls `pause`, so that other callbacks can run. */
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

  /** Lets other callbacks run; throws the signal's reason if it was aborted. */
  async pause(): Promise<void> {
    await setImmediate();
    this.#signal?.throwIfAborted();
    this.#begin = performance.now();
  }
}
