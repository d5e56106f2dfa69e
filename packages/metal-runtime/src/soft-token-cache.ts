import type { SoftTokens } from './soft-tokens.js';

/** What an encoder made of content that it saw before, least recently used first out, within a limit of bytes. */
export class SoftTokenCache {
  readonly limitBytes: number;
  /** In the order of their last use. */
  readonly #entries = new Map<string, SoftTokens>();
  #sizeBytes = 0;

  /** @param limitBytes most bytes of values; 0 = keeps nothing */
  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Bytes of the values that are kept. */
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

  /** Keeps soft tokens under their content key; what does not fit at all is not kept. */
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

  /** Forgets everything. */
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
