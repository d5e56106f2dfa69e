/** Lets at most a number of tasks run at a time, in the order in which they asked. */
export class TaskLimit {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(limit: number) {
    this.#free = limit;
  }

  /** Runs `task` when its turn has come; a task that fails makes room as any other. */
  async run<Result>(task: () => Promise<Result>): Promise<Result> {
    if (this.#free > 0) this.#free--;
    else await new Promise<void>((resolve) => this.#waiting.push(resolve));
    try {
      return await task();
    } finally {
      // The place of this task goes straight to the next one.
      const next = this.#waiting.shift();
      if (next) next();
      else this.#free++;
    }
  }
}
