import { SeededRandom } from '../../../fixtures/seeded-random.js';
import type { DraftRequest, DraftSource, GuessedAnswer } from '../src/index.js';

/** Guesses the tokens of known answers, each of them right with probability `rate`. */
export class PlantedSource implements DraftSource {
  readonly name = 'planted';
  readonly #random = new SeededRandom(7);
  readonly #answers: readonly (readonly number[])[];
  readonly #rate: number;

  /** @param answers prompts with their answers */
  constructor(answers: readonly (readonly number[])[], rate: number) {
    this.#answers = answers;
    this.#rate = rate;
  }

  reach(answer: GuessedAnswer): number {
    return this.#rest(answer).length;
  }

  draft(requests: readonly DraftRequest[]): void {
    for (const { answer, draft } of requests) {
      for (const token of this.#rest(answer)) {
        if (!draft.push(this.#random.next() < this.#rate ? token : (token + 1) % 300)) break;
      }
    }
  }

  /** What follows the context in the answer that begins with it. */
  #rest({ context }: GuessedAnswer): readonly number[] {
    const known = this.#answers.find((ids) => context.every((token, index) => ids[index] === token));
    return known?.slice(context.length, context.length + 16) ?? [];
  }
}
