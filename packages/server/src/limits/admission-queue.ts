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
}

/** Estimated duration of an answer in seconds until one has been measured. */
const FIRST_GUESS_SECONDS = 5;
const SMOOTHING = 0.2;
const LONGEST_RETRY_SECONDS = 60;

/**
 * Limits how many answers run at once. Clients with waiting answers take turns, so that one with many requests does not
 * hold up the others; the answers of one client start in the order in which they came.
 */
export class AdmissionQueue {
  readonly #limits: AdmissionLimits;
  /** Waiting answers by client; the client whose turn is next comes first. */
  readonly #waiting = new Map<string, Waiter[]>();
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
    if (this.#waitingCount === 0 && this.#running + counted <= this.#limits.concurrent)
      return this.#start(counted);
    if (this.#waitingCount + counted > this.#limits.queue) throw this.#refusal();
    await this.#wait(client, counted, signal);
    return this.#start(counted, true);
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
      const waiter: Waiter = {
        weight,
        resolve: () => {
          signal.removeEventListener('abort', onAbort);
          resolve();
        },
      };
      line.push(waiter);
      this.#waitingCount += weight;
      signal.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** @param isCounted the answer was already added to the running ones when its wait ended */
  #start(weight: number, isCounted = false): () => void {
    if (!isCounted) this.#running += weight;
    const beganMs = performance.now();
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.#running -= weight;
      const seconds = (performance.now() - beganMs) / 1000;
      this.#answerSeconds += SMOOTHING * (seconds - this.#answerSeconds);
      this.#serve();
    };
  }

  #serve(): void {
    for (;;) {
      const [client, line] = this.#waiting.entries().next().value ?? [];
      const first = line?.[0];
      if (client === undefined || !first || this.#running + first.weight > this.#limits.concurrent) return;
      this.#remove(client, first);
      // The client moves to the end of the round.
      const rest = this.#waiting.get(client);
      if (rest) {
        this.#waiting.delete(client);
        this.#waiting.set(client, rest);
      }
      this.#running += first.weight;
      first.resolve();
    }
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
