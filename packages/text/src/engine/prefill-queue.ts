import type { Choice } from './choice.js';
import type { StepOptions } from './decode-queue.js';
import { nextParts, type PrefillJob, type PrefillPart } from './prefill-step.js';
import type { StepLock } from './step-lock.js';

/** Options of a prefill. */
export interface PrefillOptions extends StepOptions {
  /** Maximum number of rows in a step; default and upper limit: the model's `prefillChunk`. */
  readonly chunkTokens?: number;
  /** Called after every step with the number of rows computed so far and in total. */
  readonly onProgress?: (progress: { readonly doneTokens: number; readonly totalTokens: number }) => void;
}

/** What the queue needs from its model. */
export interface PrefillQueueHost {
  readonly lock: StepLock;
  /** Maximum number of rows in the next step. */
  chunkTokens(): number;
  /** The unfinished jobs that the next step may compute, in order; at least the first. The lock is held. */
  select(jobs: readonly PrefillJob[]): PrefillJob[];
  /**
   * Runs one step over at least one of the parts; returns these, and the choices of those that end their prompts. The
   * lock is held.
   */
  step(
    parts: readonly PrefillPart[],
    options: StepOptions,
  ): Promise<{ readonly parts: readonly PrefillPart[]; readonly choices: readonly Choice[] }>;
}

interface Request {
  readonly jobs: readonly PrefillJob[];
  readonly options: PrefillOptions;
  readonly totalTokens: number;
  readonly choices: Map<PrefillJob, Choice>;
  readonly resolve: (choices: Choice[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Combines the prompts of independent callers into shared steps. Short prompts share a step and long ones alternate
 * piece by piece, so that none has to wait until another is complete.
 */
export class PrefillQueue {
  readonly #host: PrefillQueueHost;
  #requests: Request[] = [];
  #isScheduled = false;

  constructor(host: PrefillQueueHost) {
    this.#host = host;
  }

  /** Computes all jobs; returns the choice of the token after each prompt. */
  prefill(jobs: readonly PrefillJob[], options: PrefillOptions): Promise<Choice[]> {
    return new Promise((resolve, reject) => {
      const totalTokens = remainingTokens(jobs);
      this.#requests.push({ jobs, options, totalTokens, choices: new Map(), resolve, reject });
      this.#schedule();
    });
  }

  #schedule(): void {
    if (this.#isScheduled || this.#requests.length === 0) return;
    this.#isScheduled = true;
    void this.#host.lock.run(() => this.#flush(), 'prompt');
  }

  async #flush(): Promise<void> {
    const batch = this.#take();
    if (batch.length > 0) await this.#run(batch);
    this.#isScheduled = false;
    this.#schedule();
  }

  /** Drops aborted requests. The first of the others moves to the end of the queue for the next step. */
  #take(): Request[] {
    const batch: Request[] = [];
    for (const request of this.#requests) {
      const { signal } = request.options;
      if (signal?.aborted) request.reject(signal.reason);
      else batch.push(request);
    }
    this.#requests = [...batch.slice(1), ...batch.slice(0, 1)];
    return batch;
  }

  async #run(batch: readonly Request[]): Promise<void> {
    const limits = batch.map(({ options }) => options.chunkTokens ?? Number.POSITIVE_INFINITY);
    const jobs = this.#host.select(batch.flatMap((request) => request.jobs));
    const wanted = nextParts(jobs, Math.min(this.#host.chunkTokens(), ...limits));
    const served = batch.filter((request) => wanted.some(({ job }) => request.jobs.includes(job)));
    const signal = served.length === 1 ? served[0]!.options.signal : undefined;
    const withLogits = served.some(({ options }) => options.withLogits);
    try {
      const { parts, choices } = await this.#host.step(wanted, { withLogits, ...(signal && { signal }) });
      const ended = parts.filter(({ job, end }) => end === job.rows.end);
      for (const request of served) {
        for (const [index, { job }] of ended.entries()) {
          if (request.jobs.includes(job)) request.choices.set(job, choices[index]!);
        }
        this.#advance(request);
      }
    } catch (error) {
      for (const request of served) this.#end(request, () => request.reject(error));
    }
  }

  #advance(request: Request): void {
    const { jobs, options, totalTokens, choices } = request;
    try {
      options.onProgress?.({ doneTokens: totalTokens - remainingTokens(jobs), totalTokens });
      options.signal?.throwIfAborted();
    } catch (error) {
      // A failing listener or an abort ends only the prompts of its own request.
      this.#end(request, () => request.reject(error));
      return;
    }
    if (choices.size < jobs.length) return;
    this.#end(request, () => request.resolve(jobs.map((job) => choices.get(job)!)));
  }

  #end(request: Request, settle: () => void): void {
    this.#requests = this.#requests.filter((other) => other !== request);
    settle();
  }
}

function remainingTokens(jobs: readonly PrefillJob[]): number {
  return jobs.reduce((sum, { rows, sequence }) => sum + rows.end - sequence.length, 0);
}
