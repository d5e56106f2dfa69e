import { InvalidArgumentError } from '@markbase/core';

/** Most stop strings, and the longest one, that are accepted. */
const MAX_STOPS = 64;
const MAX_LENGTH = 4096;

/** What can be shown after some more text, and the stop string that ended it, or null. */
export interface StopMatch {
  readonly text: string;
  readonly stop: string | null;
}

/**
 * Finds stop strings in text that arrives in pieces. Text that may be the beginning of a stop string is held
 * back until it is decided; the stop string itself is never shown. Of several the one that is complete first
 * counts, and of those that end together the longest. Time is linear in the length of the text.
 */
export class StopMatcher {
  readonly #searches: readonly StopSearch[];
  #held = '';
  #stop: string | null = null;

  /** Errors: InvalidArgumentError for empty or too many stop strings. */
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

  /** Adds text. After a stop string was found nothing is shown any more. */
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

  /** Ends the text: what was held back is no stop string. */
  flush(): string {
    const text = this.#held;
    this.#held = '';
    for (const search of this.#searches) search.matchedLength = 0;
    return text;
  }
}

/** Knuth, Morris and Pratt's search for one string, one character at a time. */
class StopSearch {
  readonly stop: string;
  /** How many characters of the stop string the text ends with. */
  matchedLength = 0;
  // For each matched length the longest shorter one that the text then also ends with.
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

  /** True when the stop string is complete with this UTF-16 unit. */
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
