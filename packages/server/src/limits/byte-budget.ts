import { RequestError } from '../errors/request-error.js';

/** The share of one request in a budget. */
export interface ByteClaim {
  /** Takes more bytes. @throws RequestError (429) if the budget is used up */
  add(bytes: number): void;
  /** Releases all bytes; calling it again does nothing. */
  release(): void;
}

const RETRY_SECONDS = 2;
/** Share of the budget that one client may use, so that some is left for others. */
const SHARE_OF_CLIENT = 0.5;

/** Limits the bytes that the bodies and media of all requests take together. They count when they arrive, not when announced. */
export class ByteBudget {
  readonly #limitBytes: number;
  readonly #clientBytes: number;
  readonly #held = new Map<string, number>();
  #total = 0;

  /**
   * @param limitBytes limit for all clients together
   * @param requestBytes largest request, which a client may always send while others send nothing
   */
  constructor(limitBytes: number, requestBytes: number) {
    this.#limitBytes = limitBytes;
    this.#clientBytes = Math.min(limitBytes, Math.max(requestBytes, limitBytes * SHARE_OF_CLIENT));
  }

  /** Bytes in use. */
  get heldBytes(): number {
    return this.#total;
  }

  /** Creates a claim without bytes. */
  claim(client: string): ByteClaim {
    let own = 0;
    return {
      add: (bytes) => {
        const held = this.#held.get(client) ?? 0;
        if (this.#total + bytes > this.#limitBytes || held + bytes > this.#clientBytes) throw refusal();
        own += bytes;
        this.#change(client, bytes);
      },
      release: () => {
        this.#change(client, -own);
        own = 0;
      },
    };
  }

  #change(client: string, bytes: number): void {
    this.#total += bytes;
    const held = (this.#held.get(client) ?? 0) + bytes;
    if (held > 0) this.#held.set(client, held);
    else this.#held.delete(client);
  }
}

function refusal(): RequestError {
  return new RequestError({
    status: 429,
    type: 'rate_limit_error',
    message: `The memory for request bodies is used up: retry in ${RETRY_SECONDS} s`,
    apiCode: 'bodies_full',
    retryAfterSeconds: RETRY_SECONDS,
    closesConnection: true,
  });
}
