/** A queue of bytes that arrived and have not been used yet. */
export class ByteQueue {
  #bytes = new Uint8Array(0);
  #start = 0;
  #end = 0;
  #consumed = 0;

  /** Number of waiting bytes. */
  get length(): number {
    return this.#end - this.#start;
  }

  /** Position of the first waiting byte in the stream. */
  get position(): number {
    return this.#consumed;
  }

  push(bytes: Uint8Array): void {
    if (this.#end + bytes.length > this.#bytes.length) this.#makeRoom(bytes.length);
    this.#bytes.set(bytes, this.#end);
    this.#end += bytes.length;
  }

  /** The first `count` waiting bytes, or all if there are fewer; valid until the next `push`. */
  peek(count = this.length): Uint8Array {
    return this.#bytes.subarray(this.#start, this.#start + Math.min(count, this.length));
  }

  skip(count: number): void {
    this.#start += count;
    this.#consumed += count;
  }

  /** `peek` and `skip`. */
  take(count = this.length): Uint8Array {
    const bytes = this.peek(count);
    this.skip(bytes.length);
    return bytes;
  }

  #makeRoom(count: number): void {
    const waiting = this.length;
    const needed = waiting + count;
    const target = needed * 2 > this.#bytes.length ? new Uint8Array(needed * 2) : this.#bytes;
    if (target === this.#bytes) target.copyWithin(0, this.#start, this.#end);
    else target.set(this.#bytes.subarray(this.#start, this.#end));
    this.#bytes = target;
    this.#start = 0;
    this.#end = waiting;
  }
}
