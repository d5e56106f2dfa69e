import { InvalidArgumentError } from '@markbase/core';

/**
 * Maximum number of states of a grammar; a schema that needs more, such as a string of a million characters, is
 * refused.
 */
const MAX_STATES = 100_000;
/** Maximum number of elementary steps to build a grammar; ten million take about half a second. */
const MAX_STEPS = 10_000_000;

/** Limits of building a grammar. */
export interface GrammarLimits {
  /** Maximum number of states (default 100,000). */
  readonly maxStates?: number;
  /** Maximum number of elementary steps (default 10,000,000). */
  readonly maxSteps?: number;
  /** Maximum duration in milliseconds (default unlimited). */
  readonly maxMs?: number;
  /** Stops building between two steps, with its reason. */
  readonly signal?: AbortSignal;
}

/** Calls between two readings of the clock. */
const CALLS_PER_CHECK = 8;

/** Counts the cost of building a grammar, and stops it at a limit with the path of the schema that exceeded it. */
export class GrammarBudget {
  /** Place in the schema that is being built. */
  path = '#';
  readonly #maxStates: number;
  readonly #maxSteps: number;
  /** States so far. */
  states = 0;
  /** True once a limit was exceeded. */
  isExceeded = false;
  readonly #endMs: number;
  #steps = 0;
  #calls = 0;

  constructor({ maxStates = MAX_STATES, maxSteps = MAX_STEPS, maxMs }: GrammarLimits = {}) {
    this.#maxStates = maxStates;
    this.#maxSteps = maxSteps;
    this.#endMs = maxMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + maxMs;
  }

  /** Counts states that are kept. @throws InvalidArgumentError at the limit */
  addStates(count = 1): void {
    this.states += count;
    if (this.states > this.#maxStates) this.#exceed(`a grammar of at most ${this.#maxStates} states`);
    this.#checkTime();
  }

  /** Counts work. @throws InvalidArgumentError at the limit */
  addSteps(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#maxSteps)
      this.#exceed(`a grammar that takes at most ${this.#maxSteps} steps to build`);
    this.#checkTime();
  }

  /** Refuses what is being built. @throws InvalidArgumentError always */
  refuse(expected: string): never {
    throw new InvalidArgumentError({
      argument: `schema ${this.path}`,
      expected,
      received: 'more',
      hint: 'Lower maxLength, maxItems or counts in a pattern, or combine fewer alternatives',
    });
  }

  #checkTime(): void {
    if (++this.#calls % CALLS_PER_CHECK !== 0 || this.#endMs === Number.POSITIVE_INFINITY) return;
    if (performance.now() > this.#endMs) this.#exceed('a grammar that is built sooner');
  }

  #exceed(expected: string): never {
    this.isExceeded = true;
    this.refuse(expected);
  }
}
