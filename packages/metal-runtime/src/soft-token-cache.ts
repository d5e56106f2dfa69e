import type { SoftTokens } from './soft-tokens.js';

/** Caches soft tokens of encoded content up to a limit in bytes; the least recently used are dropped first. */
export class SoftTokenCache {
  /** Maximum number of bytes of all entries. */
  readonly limitBytes: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, SoftTokens>();
  #sizeBytes = 0;

  /** @param limitBytes maximum size of all values; 0 = caches nothing */
  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Size of the cached values in bytes. */
  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** The soft tokens of this content, or null. */
  get(contentKey: string): SoftTokens | null {
    const found = this.#entries.get(contentKey);
    if (!found) return null;
    this.#entries.delete(contentKey);
    this.#entries.set(contentKey, found);
    return found;
  }

  /** Caches soft tokens under their content key, unless they exceed the limit by themselves. */
  add(softTokens: SoftTokens): void {
    this.#remove(softTokens.contentKey);
    const { byteLength } = softTokens.values;
    if (byteLength > this.limitBytes) return;
    this.#entries.set(softTokens.contentKey, softTokens);
    this.#sizeBytes += byteLength;
    for (const oldest of this.#entries.keys()) {
      if (this.#sizeBytes <= this.limitBytes) break;
      this.#remove(oldest);
    }
  }

  /** Clears the cache. */
  clear(): void {
    this.#entries.clear();
    this.#sizeBytes = 0;
  }

  #remove(contentKey: string): void {
    const found = this.#entries.get(contentKey);
    if (!found) return;
    this.#sizeBytes -= found.values.byteLength;
    this.#entries.delete(contentKey);
  }
}
