import type { SamplingParams } from '@markbase/metal-runtime';
import type { Choice } from '../engine/choice.js';

/** A copy of an answer, which goes ahead over guessed tokens. */
export interface Future {
  /** How the next token is sampled. */
  readonly sampling: SamplingParams;
  /** Null while the answer continues. */
  readonly finish: unknown;
  /** Null if `sampling` answers at once, otherwise a promise for that. */
  prepare(): Promise<void> | null;
  /** Goes on to the token after this one. */
  accept(choice: Pick<Choice, 'token'>): void;
}

/** A guessed token, and how the one after it is sampled. */
export interface DraftToken {
  /** Id of the token. */
  readonly token: number;
  /** For the token after this one. */
  readonly sampling: SamplingParams;
}

/** The guessed tokens of one answer in one step. Only tokens that the answer may have are taken. */
export class Draft {
  readonly #future: Future;
  readonly #limit: number;
  readonly #excluded: ReadonlySet<number>;
  readonly #tokens: DraftToken[] = [];
  #sampling: SamplingParams;
  #isOver = false;

  /**
   * @param sampling of the first guessed token
   * @param options.limit maximum number of tokens
   * @param options.excluded ids that are never sampled
   */
  constructor(
    future: Future,
    sampling: SamplingParams,
    { limit, excluded }: { limit: number; excluded: ReadonlySet<number> },
  ) {
    this.#future = future;
    this.#limit = limit;
    this.#excluded = excluded;
    this.#sampling = sampling;
  }

  /** The tokens so far. */
  get tokens(): readonly DraftToken[] {
    return this.#tokens;
  }

  /** How the next token is sampled: a source that samples its guesses in the same way is right more often. */
  get sampling(): SamplingParams {
    return this.#sampling;
  }

  /** False if `push` would take no further token. */
  get isOpen(): boolean {
    return !this.#isOver && this.#tokens.length < this.#limit;
  }

  /**
   * Adds a guess. It ends the draft if the answer may not have this token, if the answer would end with it, or if what may
   * follow is not known at once.
   *
   * @returns whether another guess may follow
   */
  push(token: number): boolean {
    if (!this.isOpen) return false;
    this.#isOver = this.#excluded.has(token) || !isAllowed(this.#sampling, token);
    if (this.#isOver) return false;
    this.#future.accept({ token });
    const preparing = this.#future.finish === null ? this.#future.prepare() : null;
    // What it finds out is remembered for later; its error comes up again when the token is sampled.
    preparing?.catch(() => {});
    this.#isOver = this.#future.finish !== null || preparing !== null;
    if (this.#isOver) return false;
    this.#sampling = snapshot(this.#future.sampling);
    this.#tokens.push({ token, sampling: this.#sampling });
    return this.isOpen;
  }
}

function isAllowed({ allowed }: SamplingParams, token: number): boolean {
  return !allowed || ((allowed[token >> 5]! >>> (token & 31)) & 1) === 1;
}

/** What the future goes on changing is copied. */
function snapshot(sampling: SamplingParams): SamplingParams {
  const { history, allowed } = sampling;
  return {
    ...sampling,
    ...(history && { history: new Map(history) }),
    ...(allowed && { allowed: allowed.slice() }),
  };
}
