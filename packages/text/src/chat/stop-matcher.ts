import { InvalidArgumentError } from '@markbase/core';

/** Maximum number of stop strings and maximum length of each. */
const MAX_STOPS = 64;
const MAX_LENGTH = 4096;

/** The text that may be shown after a push, and the stop string that was found, or null. */
export interface StopMatch {
  /** Text that is certain to belong to the answer. */
  readonly text: string;
  /** The stop string that was found; null if none was. */
  readonly stop: string | null;
}

/**
 * Finds stop strings in text that arrives in pieces. Text that may be the start of a stop string is held back until
 * that is decided; the stop string itself is never shown. The first stop string to be completed wins; among those
 * completed by the same character, the longest. Time is linear in the length of the text.
 */
export class StopMatcher {
  readonly #searches: readonly StopSearch[];
  #held = '';
  #stop: string | null = null;

  /** Errors: InvalidArgumentError for invalid, empty or too many stop strings. */
  constructor(stops: readonly string[]) {
    const areValid = stops.every(
      (stop) => typeof stop === 'string' && stop !== '' && stop.length <= MAX_LENGTH,
    );
    if (stops.length > MAX_STOPS || !areValid) {
      throw new InvalidArgumentError({
        argument: 'stop',
        expected: `up to ${MAX_STOPS} strings of 1 to ${MAX_LENGTH} characters`,
        received: stops,
      });
    }
    this.#searches = stops.map((stop) => new StopSearch(stop));
  }

  /** The stop string that was found, or null. */
  get stop(): string | null {
    return this.#stop;
  }

  /** Adds text. After a stop string has been found, nothing more is shown. */
  push(piece: string): StopMatch {
    if (this.#stop !== null) return { text: '', stop: this.#stop };
    const text = this.#held + piece;
    for (let index = this.#held.length; index < text.length; index++) {
      let found: string | null = null;
      for (const search of this.#searches) {
        const isLonger = search.stop.length > (found?.length ?? 0);
        if (search.advance(text.charCodeAt(index)) && isLonger) found = search.stop;
      }
      if (found === null) continue;
      this.#stop = found;
      this.#held = '';
      return { text: text.slice(0, index + 1 - found.length), stop: found };
    }
    const heldLength = Math.max(0, ...this.#searches.map((search) => search.matchedLength));
    this.#held = text.slice(text.length - heldLength);
    return { text: text.slice(0, text.length - heldLength), stop: null };
  }

  /** Ends the text: what was held back turned out not to be a stop string. */
  flush(): string {
    const text = this.#held;
    this.#held = '';
    for (const search of this.#searches) search.matchedLength = 0;
    return text;
  }
}

/** Knuth-Morris-Pratt search for one string, one character at a time. */
class StopSearch {
  readonly stop: string;
  /** Number of leading characters of the stop string that the text ends with. */
  matchedLength = 0;
  // For each matched length, the next shorter one that the text also ends with.
  readonly #fallback: Uint16Array;

  constructor(stop: string) {
    this.stop = stop;
    this.#fallback = new Uint16Array(stop.length + 1);
    for (let index = 1, length = 0; index < stop.length; index++) {
      while (length > 0 && stop[index] !== stop[length]) length = this.#fallback[length]!;
      if (stop[index] === stop[length]) length++;
      this.#fallback[index + 1] = length;
    }
  }

  /** True if this UTF-16 code unit completes the stop string. */
  advance(unit: number): boolean {
    const { stop } = this;
    let length = this.matchedLength;
    if (length === stop.length) length = this.#fallback[length]!;
    while (length > 0 && stop.charCodeAt(length) !== unit) length = this.#fallback[length]!;
    if (stop.charCodeAt(length) === unit) length++;
    this.matchedLength = length;
    return length === stop.length;
  }
}
