/** Guesses from which the estimate of an answer begins to count more than that of all answers. */
const PRIOR_WEIGHT = 4;
/** What a later guess leaves of the weight of earlier ones. */
const FADE = 0.97;
/** Tokens without guesses before one is tried again, at first and at most. */
const SHORTEST_PAUSE = 16;
const LONGEST_PAUSE = 256;

/** How often guesses are right, given that those before them were; later ones count more. */
export class Acceptance {
  readonly #prior: Acceptance | number;
  #right = 0;
  #tried = 0;
  #pause = SHORTEST_PAUSE;
  #skipped = 0;

  /** @param prior what is assumed before anything was tried */
  constructor(prior: Acceptance | number) {
    this.#prior = prior;
  }

  /** Probability that the next guess is right. */
  get estimate(): number {
    const prior = typeof this.#prior === 'number' ? this.#prior : this.#prior.estimate;
    return (this.#right + PRIOR_WEIGHT * prior) / (this.#tried + PRIOR_WEIGHT);
  }

  /** Counts a draft; guesses after the first wrong one say nothing. */
  add(drafted: number, accepted: number): void {
    if (typeof this.#prior !== 'number') this.#prior.add(drafted, accepted);
    const tried = Math.min(drafted, accepted + 1);
    const fade = FADE ** tried;
    this.#right = this.#right * fade + accepted;
    this.#tried = this.#tried * fade + tried;
    this.#skipped = 0;
    this.#pause = accepted > 0 ? SHORTEST_PAUSE : Math.min(2 * this.#pause, LONGEST_PAUSE);
  }

  /** Counts a token for which guessing did not pay; true when it is time to try one again. */
  skip(): boolean {
    this.#skipped++;
    return this.#skipped >= this.#pause;
  }
}
