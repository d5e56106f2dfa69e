/** Bytes that are kept at most. */
const MAX_KEPT_BYTES = 4 * 1024 * 1024;

/**
 * The bytes of a source that may be readable only once, which keeps what was read until it is clear that nothing else needs it. Iterating
 * stops without closing the source, so that what follows can still be read.
 */
export class KeptBytes implements AsyncIterable<Uint8Array> {
  readonly #bytes: AsyncGenerator<Uint8Array>;
  #kept: Uint8Array[] | null = [];
  #keptBytes = 0;

  constructor(bytes: AsyncGenerator<Uint8Array>) {
    this.#bytes = bytes;
  }

  /** True if everything that was read is still here. */
  get isKept(): boolean {
    return this.#kept !== null;
  }

  /** Keeps nothing from now on. */
  forget(): void {
    this.#kept = null;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Uint8Array> {
    for (let next = await this.#bytes.next(); !next.done; next = await this.#bytes.next()) {
      this.#kept?.push(next.value);
      this.#keptBytes += next.value.length;
      if (this.#keptBytes > MAX_KEPT_BYTES) this.forget();
      yield next.value;
    }
  }

  /** Everything from the beginning on: what was kept, then the rest. */
  async *whole(): AsyncGenerator<Uint8Array> {
    yield* this.#kept ?? [];
    this.forget();
    yield* this;
  }

  /** Closes the source. */
  async close(): Promise<void> {
    await this.#bytes.return(undefined);
  }
}
