import { existsSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import { OutOfMemoryError } from '@markbase/core';

/** Time limit of a job. */
const BUDGET_MS = 15_000;

/** Work for a thread of its own. */
export interface ThreadJob {
  /** What the thread does, for errors. */
  readonly label: string;
  /** `workerData` of the thread. */
  readonly data: object;
}

/** Starts a thread; resolves with its first message. */
export type StartJob = <Message>(job: ThreadJob) => Promise<Message>;

/** Why a job has no result: it took too long, or its thread failed. */
export class JobFailure {
  readonly reason: string;
  readonly isTooLong: boolean;
  readonly cause: unknown;

  constructor(reason: string, { isTooLong = false, cause }: { isTooLong?: boolean; cause?: unknown }) {
    this.reason = reason;
    this.isTooLong = isTooLong;
    this.cause = cause;
  }
}

/** Runs jobs in worker threads, one after the other, so that they never take more than one core from the engine. */
export class ThreadLine {
  readonly #files: readonly URL[];
  readonly #heapMib: number;
  #last: Promise<unknown> = Promise.resolve();

  /**
   * @param files where the worker may be; the first file that exists is used
   * @param heapMib maximum size of a thread's heap
   */
  constructor(files: readonly URL[], heapMib: number) {
    this.#files = files;
    this.#heapMib = heapMib;
  }

  /**
   * Calls `work` when its turn comes. The jobs that it starts get 15 seconds each and resolve with the first message of
   * their thread; they reject with a JobFailure, with an OutOfMemoryError if the thread needs a larger heap, and with
   * the signal's reason.
   */
  inTurn<Result>(
    signal: AbortSignal | undefined,
    work: (start: StartJob) => Promise<Result>,
  ): Promise<Result> {
    const done = this.#last.then(() => {
      signal?.throwIfAborted();
      return work((job) => this.#start(job, signal));
    });
    this.#last = done.catch(() => {});
    return done;
  }

  #start<Result>({ label, data }: ThreadJob, signal: AbortSignal | undefined): Promise<Result> {
    const file = this.#files.find((url) => existsSync(url)) ?? this.#files[0]!;
    return new Promise((resolve, reject) => {
      let worker: Worker;
      try {
        worker = new Worker(file, {
          workerData: data,
          resourceLimits: { maxOldGenerationSizeMb: this.#heapMib },
        });
      } catch (cause) {
        // Functions, for example, cannot move to another thread.
        return reject(new JobFailure((cause as Error).message, { cause }));
      }
      const end = (settle: () => void) => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        void worker.terminate();
        settle();
      };
      const fail = (error: unknown) => end(() => reject(error));
      const onAbort = () => fail(signal!.reason);
      const reason = `${label} took longer than ${BUDGET_MS / 1000} s`;
      const timer = setTimeout(() => fail(new JobFailure(reason, { isTooLong: true })), BUDGET_MS);
      signal?.addEventListener('abort', onAbort, { once: true });
      worker.on('message', (result: Result) => end(() => resolve(result)));
      worker.on('error', (error: NodeJS.ErrnoException) => {
        if (error.code !== 'ERR_WORKER_OUT_OF_MEMORY')
          return fail(new JobFailure(error.message, { cause: error }));
        fail(new OutOfMemoryError({ requestedBytes: this.#heapMib * 2 ** 20, label }));
      });
    });
  }
}
