import type { SamplingParams } from '@markbase/metal-runtime';
import type { DraftRequest, DraftSource, Future, GuessedAnswer } from '@markbase/text';

/** Added to the logit of a token that is to be chosen; logits are at most 30. */
const CERTAIN = 100;

/** An answer whose text is known beforehand: sampling is biased so that the model gives it. */
export class PlantedAnswer implements GuessedAnswer {
  readonly hidden = null;
  readonly #ids: ArrayLike<number>;
  readonly context: number[];

  /** @param ids the prompt and the answer, of which the first `known` are there already */
  constructor(ids: ArrayLike<number>, known: number) {
    this.#ids = ids;
    this.context = Array.from({ length: known }, (_, index) => ids[index]!);
  }

  /** How token `at` is sampled. */
  samplingAt(at: number): SamplingParams {
    return { logitBias: new Map([[this.idAt(at), CERTAIN]]) };
  }

  /** Token `at` of the text. */
  idAt(at: number): number {
    return this.#ids[at % this.#ids.length]!;
  }

  fork(): Future {
    let at = this.context.length;
    const samplingAt = (index: number) => this.samplingAt(index);
    return {
      finish: null,
      prepare: () => null,
      accept: () => void at++,
      get sampling() {
        return samplingAt(at);
      },
    };
  }
}

/** Guesses the tokens of planted answers, each of them right with probability `rate`. */
export class PlantedSource implements DraftSource {
  readonly name = 'planted';
  /** Most tokens of a guess. */
  most = 8;
  rate = 1;
  readonly #random: () => number;

  /** @param random numbers from 0 to 1 */
  constructor(random: () => number) {
    this.#random = random;
  }

  reach(): number {
    return this.most;
  }

  draft(requests: readonly DraftRequest[]): void {
    for (const { answer, draft } of requests) {
      const planted = answer as PlantedAnswer;
      let at = answer.context.length;
      let mayGoOn = true;
      while (mayGoOn) {
        const isRight = this.#random() < this.rate;
        mayGoOn = draft.push(planted.idAt(isRight ? at : at + 1));
        at++;
      }
    }
  }
}
