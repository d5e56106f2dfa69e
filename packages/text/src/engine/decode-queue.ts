import { setImmediate } from 'node:timers/promises';
import type { SamplingParams } from '@markbase/metal-runtime';
import type { GuessedAnswer } from '../speculation/draft-source.js';
import type { Choice } from './choice.js';
import type { Sequence } from './sequence.js';
import type { StepLock } from './step-lock.js';

/** One row of a decode step: a token to add to its sequence, and how the next one is sampled. */
export interface DecodeRow {
  /** The sequence to continue. */
  readonly sequence: Sequence;
  /** Id of the token to add. */
  readonly token: number;
  /** How to choose the next token; default: the likeliest. */
  readonly sampling?: SamplingParams;
  /** What further tokens are guessed from, which the step then verifies; default: none are guessed. */
  readonly answer?: GuessedAnswer;
}

/** What a step has brought a sequence. */
export interface Advance {
  /** The next token and, after each guessed token that it turned out to be, the one after it. At least one. */
  readonly choices: readonly [Choice, ...Choice[]];
  /** Number of tokens that were guessed; `choices.length` - 1 of them were right. */
  readonly draftedTokens: number;
}

/** Options of a single step. */
export interface StepOptions {
  /** Aborts the step, which then throws the signal's reason. */
  readonly signal?: AbortSignal;
  /** Reads the logits back to the host. */
  readonly withLogits?: boolean;
}

/** What the queue needs from its model. */
export interface DecodeQueueHost {
  readonly lock: StepLock;
  /** Maximum number of rows in a step. */
  readonly maxRows: number;
  /** Number of sequences in use, which may soon submit a row. */
  busySequences(): number;
  /** True if the caches have room for all rows in one step. */
  hasRoomFor(rows: readonly DecodeRow[]): boolean;
  /** Runs one step, or several if the caches have no room; the lock is held. */
  step(rows: readonly DecodeRow[], options: StepOptions): Promise<Advance[]>;
}

interface Request extends StepOptions {
  readonly rows: readonly DecodeRow[];
  readonly resolve: (advances: Advance[]) => void;
  readonly reject: (reason: unknown) => void;
}

/**
 * Combines the rows of independent callers into shared decode steps: all rows that are waiting when the device becomes
 * free run together, so that several conversations read the weights once.
 */
export class DecodeQueue {
  readonly #host: DecodeQueueHost;
  #waiting: Request[] = [];
  #isScheduled = false;

  constructor(host: DecodeQueueHost) {
    this.#host = host;
  }

  /** Runs rows in the next step that has room for them; returns what it brings each, in order. */
  decode(rows: readonly DecodeRow[], options: StepOptions): Promise<Advance[]> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ rows, ...options, resolve, reject });
      this.#schedule();
    });
  }

  /** One flush for all waiting requests; one flush each would pile up while prompts take every other turn. */
  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    void this.#host.lock.run(() => this.#flush(), 'decode');
  }

  async #flush(): Promise<void> {
    // Callers that the last step has just answered submit their next row within one turn of the event loop.
    if (this.#host.busySequences() > this.#waitingRows()) await setImmediate();
    const batch = this.#take();
    this.#isScheduled = false;
    this.#schedule();
    if (batch.length === 0) return;
    const signal = batch.length === 1 ? batch[0]!.signal : undefined;
    const withLogits = batch.some((request) => request.withLogits);
    try {
      const rows = batch.flatMap((request) => request.rows);
      const advances = await this.#host.step(rows, { withLogits, ...(signal && { signal }) });
      let next = 0;
      for (const request of batch) {
        const own = advances.slice(next, next + request.rows.length);
        next += request.rows.length;
        if (request.signal?.aborted) request.reject(request.signal.reason);
        else request.resolve(own);
      }
    } catch (error) {
      for (const request of batch) request.reject(error);
    }
  }

  /**
   * The requests of the next step: in order, as many as fit. If the caches have no room for all of them, those whose
   * sequences were taken first go first, and the others wait.
   */
  #take(): Request[] {
    const batch: Request[] = [];
    let room = this.#host.maxRows;
    const left: Request[] = [];
    const isTight = !this.#host.hasRoomFor(this.#waiting.flatMap(({ rows }) => rows));
    const waiting = isTight ? [...this.#waiting].sort((a, b) => ageOf(a) - ageOf(b)) : this.#waiting;
    const fits = ({ rows }: Request) =>
      batch.length === 0 ||
      !isTight ||
      this.#host.hasRoomFor([...batch.flatMap((other) => other.rows), ...rows]);
    for (const request of waiting) {
      if (request.signal?.aborted) {
        request.reject(request.signal.reason);
      } else if (left.length === 0 && request.rows.length <= room && fits(request)) {
        batch.push(request);
        room -= request.rows.length;
      } else {
        left.push(request);
      }
    }
    this.#waiting = left;
    return batch;
  }

  #waitingRows(): number {
    return this.#waiting.reduce((sum, request) => sum + request.rows.length, 0);
  }
}

/** Sequences taken earlier have lower numbers. */
function ageOf({ rows }: Request): number {
  return Math.min(...rows.map(({ sequence }) => sequence.id));
}
