/** Maximum duration of work between two turns of the event loop. */
const SLICE_MS = 5;

/** Work that waits for its next slice, longest first. */
const waiting: (() => void)[] = [];

/** Lets one piece of work continue per turn, so that many together take no more of a turn than one. */
function wakeNext(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(wakeNext);
}

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

  /** Lets other callbacks and other sliced work run; throws the signal's reason if it was aborted. */
  async pause(): Promise<void> {
    await new Promise<void>((resolve) => {
      waiting.push(resolve);
      if (waiting.length === 1) setImmediate(wakeNext);
    });
    this.#signal?.throwIfAborted();
    this.#begin = performance.now();
  }

  /** Runs work that yields where it may pause, and returns its result. */
  async run<Result>(work: Iterator<void, Result>): Promise<Result> {
    for (;;) {
      const { done, value } = work.next();
      if (done) return value;
      if (this.isOver) await this.pause();
    }
  }
}
