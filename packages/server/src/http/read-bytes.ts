import { RequestError } from '../errors/request-error.js';
import type { ByteClaim } from '../limits/byte-budget.js';
import type { ServerLimits } from '../server-options.js';

const FIRST_BYTES = 65_536;
/** How long a refused body is still read. */
const DISCARD_MS = 2000;

/** Options of `readBytes`. */
export interface ReadBytesOptions {
  readonly limits: Pick<ServerLimits, 'bodyBytes' | 'bodyMs'>;
  /** Counts the bytes while they arrive. */
  readonly claim: ByteClaim;
}

/**
 * Reads the body of a request.
 *
 * @param inspect called with each piece before it is kept; what it throws refuses the body
 * @throws RequestError: 413 for a body that is too large, 408 for one that takes too long, 429 while other bodies use all
 *   of the memory budget
 */
export async function readBytes(
  request: Request,
  { limits, claim }: ReadBytesOptions,
  inspect: (chunk: Buffer) => void = () => {},
): Promise<Buffer> {
  const announced = Number(request.headers.get('content-length') ?? 0);
  if (announced > limits.bodyBytes) throw tooLarge(limits);
  if (!request.body) return Buffer.alloc(0);
  const body = new GrowingBuffer(limits.bodyBytes);
  const reader = request.body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const tooSlow = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(slow(limits)), limits.bodyMs);
  });
  try {
    for (;;) {
      const { done, value } = await Promise.race([reader.read(), tooSlow]);
      if (done) return body.bytes;
      if (body.length + value.length > limits.bodyBytes) throw tooLarge(limits);
      claim.add(value.length);
      const chunk = Buffer.from(value.buffer, value.byteOffset, value.byteLength);
      inspect(chunk);
      body.append(chunk);
    }
  } finally {
    clearTimeout(timer);
    tooSlow.catch(() => {});
    // What is left of a refused body is for `discardBody`.
    reader.releaseLock();
  }
}

/**
 * Reads and drops the rest of a refused body, for a limited time. The answer closes the connection, and a client that
 * is still sending would see a broken connection instead of it.
 */
export async function discardBody({ body }: Request, limitBytes: number): Promise<void> {
  if (!body || body.locked) return;
  const reader = body.getReader();
  const timer = setTimeout(() => reader.cancel().catch(() => {}), DISCARD_MS);
  try {
    for (let left = limitBytes; left > 0; ) {
      const { done, value } = await reader.read();
      if (done) return;
      left -= value.length;
    }
    await reader.cancel();
  } catch {
    // The connection broke, so no client waits for an answer.
  } finally {
    clearTimeout(timer);
  }
}

/** A buffer that doubles as bytes arrive: an announced length alone allocates nothing. */
class GrowingBuffer {
  readonly #limitBytes: number;
  #buffer = Buffer.allocUnsafe(FIRST_BYTES);
  length = 0;

  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.length);
  }

  append(chunk: Buffer): void {
    const needed = this.length + chunk.length;
    if (needed > this.#buffer.length) {
      const grown = Buffer.allocUnsafe(Math.min(Math.max(needed, 2 * this.#buffer.length), this.#limitBytes));
      this.#buffer.copy(grown, 0, 0, this.length);
      this.#buffer = grown;
    }
    chunk.copy(this.#buffer, this.length);
    this.length = needed;
  }
}

function tooLarge({ bodyBytes }: Pick<ServerLimits, 'bodyBytes'>): RequestError {
  const message = `The body is larger than ${bodyBytes} bytes: send smaller media, or raise limits.bodyBytes`;
  return new RequestError({ status: 413, message, apiCode: 'body_too_large', closesConnection: true });
}

function slow({ bodyMs }: Pick<ServerLimits, 'bodyMs'>): RequestError {
  const message = `The body did not arrive within ${bodyMs / 1000} s: send it faster, or raise limits.bodyMs`;
  return new RequestError({ status: 408, message, apiCode: 'body_timeout', closesConnection: true });
}
