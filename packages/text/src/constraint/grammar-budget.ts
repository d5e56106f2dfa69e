import { InvalidArgumentError } from '@markbase/core';

/** Most states of a grammar: a schema that asks for more, such as strings of a million characters, is refused. */
const MAX_STATES = 200_000;
/** Most elementary steps of building one; ten million take about half a second. */
const MAX_STEPS = 10_000_000;

/** Limits of building one grammar. */
export interface GrammarLimits {
  /** Most states (default 200,000). */
  readonly maxStates?: number;
  /** Most elementary steps (default 10,000,000). */
  readonly maxSteps?: number;
  /** Ends building with its reason between two steps. */
  readonly signal?: AbortSignal;
}

/** Counts what building a grammar costs, and ends it at a limit with the path of what asked for too much. */
export class GrammarBudget {
  /** Place in the schema of what is being built. */
  path = '#';
  readonly #maxStates: number;
  readonly #maxSteps: number;
  states = 0;
  steps = 0;

  constructor({ maxStates = MAX_STATES, maxSteps = MAX_STEPS }: GrammarLimits = {}) {
    this.#maxStates = maxStates;
    this.#maxSteps = maxSteps;
  }

  /** Counts states that are kept. @throws InvalidArgumentError at the limit */
  addStates(count = 1): void {
    this.states += count;
    if (this.states > this.#maxStates) this.refuse(`a grammar of at most ${this.#maxStates} states`);
  }

  /** Counts work. @throws InvalidArgumentError at the limit */
  addSteps(count = 1): void {
    this.steps += count;
    if (this.steps > this.#maxSteps)
      this.refuse(`a grammar that takes at most ${this.#maxSteps} steps to build`);
  }

  /** Refuses what is being built. @throws InvalidArgumentError always */
  refuse(expected: string): never {
    throw new InvalidArgumentError({
      argument: `schema ${this.path}`,
      expected,
      received: 'a larger one',
      hint: 'Lower maxLength, maxItems or counts in a pattern, or combine fewer alternatives',
    });
  }
}
