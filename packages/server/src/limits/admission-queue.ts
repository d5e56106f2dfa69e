import { RequestError } from '../errors/request-error.js';

/** How many answers may run and wait. */
export interface AdmissionLimits {
  /** Answers that may run at the same time. */
  readonly concurrent: number;
  /** Further answers that may wait. */
  readonly queue: number;
}

interface Waiter {
  readonly weight: number;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}

/** Estimated duration of an answer in seconds until one has been measured. */
const FIRST_GUESS_SECONDS = 5;
const SMOOTHING = 0.2;
const LONGEST_RETRY_SECONDS = 60;

/**
 * Limits how many answers run at once. The client with the fewest running answers goes next; among equals, the one that
 * has waited longest since its last turn; the answers of one client start in the order in which they came. When the
 * queue is full, the newest request of the client with the most waiting answers is refused, so that one client cannot
 * fill it.
 */
export class AdmissionQueue {
  readonly #limits: AdmissionLimits;
  /** Waiting answers by client; the client that has waited longest since its last turn comes first. */
  readonly #waiting = new Map<string, Waiter[]>();
  readonly #runningOf = new Map<string, number>();
  #running = 0;
  #waitingCount = 0;
  #answerSeconds = FIRST_GUESS_SECONDS;

  constructor(limits: AdmissionLimits) {
    this.#limits = limits;
  }

  /** Answers that are running. */
  get running(): number {
    return this.#running;
  }

  /** Answers that are waiting. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Waits for a request's turn.
   *
   * @param weight number of answers that the request asks for, capped at the number that may run at once
   * @returns a function that releases the slot; calling it again does nothing
   * @throws RequestError (429, with the time after which to retry) at once if the queue is full; the signal's reason
   */
  async enter(client: string, weight: number, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    const counted = Math.min(weight, this.#limits.concurrent);
    if (this.#waitingCount > 0 || this.#running + counted > this.#limits.concurrent) {
      this.#makeRoom(client, counted);
      await this.#wait(client, counted, signal);
    } else this.#start(client, counted);
    return this.#place(client, counted);
  }

  /** Refuses the newest requests of the client with the most waiting answers, if that is another one. */
  #makeRoom(client: string, weight: number): void {
    if (weight > this.#limits.queue) throw this.#refusal();
    while (this.#waitingCount + weight > this.#limits.queue) {
      const [longest, line] = [...this.#waiting].reduce((a, b) =>
        waitingIn(b[1]) > waitingIn(a[1]) ? b : a,
      );
      const own = waitingIn(this.#waiting.get(client) ?? []) + weight;
      if (longest === client || waitingIn(line) <= own) throw this.#refusal();
      const newest = line.at(-1)!;
      this.#remove(longest, newest);
      newest.reject(this.#refusal());
    }
  }

  #wait(client: string, weight: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      const line = this.#waiting.get(client) ?? [];
      this.#waiting.set(client, line);
      const onAbort = () => {
        this.#remove(client, waiter);
        reject(signal.reason);
        this.#serve();
      };
      const unlink = () => signal.removeEventListener('abort', onAbort);
      const waiter: Waiter = {
        weight,
        resolve: () => {
          unlink();
          resolve();
        },
        reject: (reason) => {
          unlink();
          reject(reason);
        },
      };
      line.push(waiter);
      this.#waitingCount += weight;
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  #start(client: string, weight: number): void {
    this.#running += weight;
    this.#runningOf.set(client, (this.#runningOf.get(client) ?? 0) + weight);
  }

  /** Returns a function that releases the slot. */
  #place(client: string, weight: number): () => void {
    const beganMs = performance.now();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= weight;
      const left = this.#runningOf.get(client)! - weight;
      if (left > 0) this.#runningOf.set(client, left);
      else this.#runningOf.delete(client);
      const seconds = (performance.now() - beganMs) / 1000;
      this.#answerSeconds += SMOOTHING * (seconds - this.#answerSeconds);
      this.#serve();
    };
  }

  #serve(): void {
    for (;;) {
      const next = this.#next();
      if (next === null) return;
      const [client, waiter] = next;
      if (this.#running + waiter.weight > this.#limits.concurrent) return;
      this.#remove(client, waiter);
      // The client moves to the end of the round.
      const rest = this.#waiting.get(client);
      if (rest) {
        this.#waiting.delete(client);
        this.#waiting.set(client, rest);
      }
      this.#start(client, waiter.weight);
      waiter.resolve();
    }
  }

  /** The request whose turn it is. */
  #next(): [client: string, waiter: Waiter] | null {
    let best: [string, Waiter] | null = null;
    let least = Number.POSITIVE_INFINITY;
    for (const [client, line] of this.#waiting) {
      const running = this.#runningOf.get(client) ?? 0;
      if (running >= least) continue;
      least = running;
      best = [client, line[0]!];
    }
    return best;
  }

  #remove(client: string, waiter: Waiter): void {
    const line = this.#waiting.get(client) ?? [];
    line.splice(line.indexOf(waiter), 1);
    if (line.length === 0) this.#waiting.delete(client);
    this.#waitingCount -= waiter.weight;
  }

  #refusal(): RequestError {
    const rounds = (this.#waitingCount + 1) / this.#limits.concurrent;
    const seconds = Math.ceil(Math.min(Math.max(rounds * this.#answerSeconds, 1), LONGEST_RETRY_SECONDS));
    return new RequestError({
      status: 429,
      type: 'rate_limit_error',
      message: `Too many requests are waiting: retry in ${seconds} s`,
      apiCode: 'queue_full',
      retryAfterSeconds: seconds,
    });
  }
}

function waitingIn(line: readonly Waiter[]): number {
  return line.reduce((sum, { weight }) => sum + weight, 0);
}
