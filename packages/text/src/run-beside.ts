import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Worker } from 'node:worker_threads';
import { OutOfMemoryError } from '@markbase/core';

/** Time limit of a job. */
const BUDGET_MS = 15_000;

/** Work for a separate thread. */
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

interface Waiting {
  readonly weight: number;
  readonly begin: () => void;
}

/** Runs jobs in worker threads, one after the other, so that they never take more than one core from the engine. */
export class ThreadLine {
  readonly #name: string;
  readonly #heapMib: number;
  /** Lightest first; in order of arrival among equals. */
  readonly #waiting: Waiting[] = [];
  #isBusy = false;

  /**
   * @param name file of the worker in the built package
   * @param heapMib maximum size of a thread's heap
   */
  constructor(name: string, heapMib: number) {
    this.#name = name;
    this.#heapMib = heapMib;
  }

  /**
   * Calls `work` when its turn comes. The jobs that it starts get 15 seconds each and resolve with the first message of
   * their thread; they reject with a JobFailure, with an OutOfMemoryError if the thread needs a larger heap, and with
   * the signal's reason.
   *
   * @param weight how long the jobs take, in any unit: lighter ones go first
   */
  async inTurn<Result>(
    signal: AbortSignal | undefined,
    work: (start: StartJob) => Promise<Result>,
    weight = 0,
  ): Promise<Result> {
    signal?.throwIfAborted();
    if (this.#isBusy) await this.#turn(weight, signal);
    this.#isBusy = true;
    try {
      return await work((job) => this.#start(job, signal));
    } finally {
      const next = this.#waiting.shift();
      if (next) next.begin();
      else this.#isBusy = false;
    }
  }

  #turn(weight: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiting), 1);
        reject(signal!.reason);
      };
      const waiting: Waiting = {
        weight,
        begin: () => {
          signal?.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      const heavier = this.#waiting.findIndex((other) => other.weight > weight);
      this.#waiting.splice(heavier === -1 ? this.#waiting.length : heavier, 0, waiting);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  #start<Result>({ label, data }: ThreadJob, signal: AbortSignal | undefined): Promise<Result> {
    return new Promise((resolve, reject) => {
      let worker: Worker;
      try {
        worker = new Worker(workerFile(this.#name), {
          workerData: data,
          resourceLimits: { maxOldGenerationSizeMb: this.#heapMib },
        });
      } catch (cause) {
        // Functions, for example, cannot move to another thread; or a bundle runs without the package.
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

/** Next to this module as built. Sources, as in tests, find it in the build, and bundles in the installed package. */
function workerFile(name: string): string {
  // CommonJS made by a bundler has no `import.meta`.
  const url = import.meta.url ?? pathToFileURL(__filename).href;
  const folder = dirname(fileURLToPath(url));
  const found = [join(folder, name), join(folder, '../dist', name)].find((file) => existsSync(file));
  if (found !== undefined) return found;
  return join(dirname(createRequire(url).resolve('@markbase/text/package.json')), 'dist', name);
}
