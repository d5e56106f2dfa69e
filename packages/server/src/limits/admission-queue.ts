import { RequestError } from '../errors/request-error.js';

/** How many answers run and wait. */
export interface AdmissionLimits {
  /** Answers that run at once. */
  readonly concurrent: number;
  /** Answers that may wait beyond these. */
  readonly queue: number;
}

interface Waiter {
  readonly weight: number;
  readonly resolve: () => void;
}

/** What an answer takes in seconds before one has been measured. */
const FIRST_GUESS_SECONDS = 5;
const SMOOTHING = 0.2;
const LONGEST_RETRY_SECONDS = 60;

/**
 * Lets answers start, a bounded number at once. Those that wait are served client by client in turn, so that one with many
 * requests does not hold up the others; within a client, first come is first served.
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

  /** Answers that run now. */
  get running(): number {
    return this.#running;
  }

  /** Answers that wait. */
  get waiting(): number {
    return this.#waitingCount;
  }

  /**
   * Waits for the turn of a request.
   *
   * @param weight answers that the request asks for; one that asks for more than may run counts as all of them
   * @returns a function that gives the place back; calling it again does nothing
   * @throws RequestError (429, with a time to come back) at once when the queue is full; the signal's reason
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

  /** @param isCounted the place was taken when the wait ended */
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
      // The client goes to the end of the round.
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
      message: `Too many requests are waiting: come back in ${seconds} s`,
      apiCode: 'queue_full',
      retryAfterSeconds: seconds,
    });
  }
}
