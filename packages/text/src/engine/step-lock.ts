/** The purpose of a step. */
export type StepKind = 'prompt' | 'decode';

/**
 * Runs the steps of a model one after the other. While both kinds are waiting they alternate, so that between two
 * tokens a running answer waits for at most one piece of other prompts. Within a kind: first come, first served.
 */
export class StepLock {
  readonly #waiting: Record<StepKind, (() => Promise<void>)[]> = { prompt: [], decode: [] };
  #last: StepKind = 'prompt';
  #isBusy = false;

  /** Runs `task` when its turn comes; a failing task does not hold up the others. */
  run<Result>(task: () => Promise<Result>, kind: StepKind = 'prompt'): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting[kind].push(() => task().then(resolve, reject));
      if (!this.#isBusy) void this.#work();
    });
  }

  async #work(): Promise<void> {
    this.#isBusy = true;
    for (let next = this.#next(); next; next = this.#next()) await next();
    this.#isBusy = false;
  }

  #next(): (() => Promise<void>) | undefined {
    const other = this.#last === 'prompt' ? 'decode' : 'prompt';
    const kind = this.#waiting[other].length > 0 ? other : this.#last;
    this.#last = kind;
    return this.#waiting[kind].shift();
  }
}
