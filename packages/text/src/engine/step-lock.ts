/** Lets tasks run one after the other, in the order in which they asked. */
export class StepLock {
  #tail: Promise<unknown> = Promise.resolve();

  /** Runs `task` when all earlier tasks have ended, whether they succeeded or not. */
  run<Result>(task: () => Promise<Result>): Promise<Result> {
    const result = this.#tail.then(task);
    this.#tail = result.catch(() => {});
    return result;
  }
}
