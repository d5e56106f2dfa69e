/** Limits the number of tasks that run at a time; tasks start in the order of their requests. */
export class TaskLimit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs `task` when it is its turn; a failed task makes room like any other. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // The slot of this task goes straight to the next one.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
