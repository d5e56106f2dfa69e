import type { DraftRequest, DraftSource, GuessedAnswer } from './draft-source.js';

/** Tokens that must agree before what followed them is guessed. */
const LEAST_MATCH = 3;
/** Longer matches are not told apart. */
const LONGEST_MATCH = 32;
/** Places that are compared, the latest first. */
const MOST_PLACES = 16;
/** Most tokens of a guess. */
const REACH = 16;
/** Token ids are smaller. */
const ID_LIMIT = 2 ** 26;

/** Where each pair of tokens occurs in a context. */
class PairIndex {
  readonly #last = new Map<number, number>();
  readonly #previous: number[] = [];

  /** Adds what the context has gained. */
  extend(context: readonly number[]): void {
    for (let at = this.#previous.length; at < context.length; at++) {
      const key = keyAt(context, at);
      this.#previous.push(this.#last.get(key) ?? -1);
      this.#last.set(key, at);
    }
  }

  /** Index after the latest of the longest earlier matches with the end of the context; null if there is none. */
  find(context: readonly number[]): number | null {
    let longest = LEAST_MATCH - 1;
    let found: number | null = null;
    let at = this.#previous[context.length - 1] ?? -1;
    for (let count = 0; at >= 0 && count < MOST_PLACES; count++, at = this.#previous[at]!) {
      const length = matchLength(context, at);
      if (length <= longest) continue;
      longest = length;
      found = at + 1;
    }
    return found;
  }
}

/** Guesses that the answer repeats what followed its last tokens before, in the prompt, the answer or a prediction. */
export class PromptLookup implements DraftSource {
  readonly name = 'lookup';
  readonly #indices = new WeakMap<GuessedAnswer, PairIndex>();

  reach(answer: GuessedAnswer): number {
    return this.#find(answer) === null ? 0 : REACH;
  }

  draft(requests: readonly DraftRequest[]): void {
    for (const { answer, draft } of requests) {
      const begin = this.#find(answer);
      if (begin === null) continue;
      const { context } = answer;
      // After the end of the context, a repetition goes on with what was guessed.
      const tokenAt = (at: number) => context[at] ?? draft.tokens[at - context.length]!.token;
      for (let at = begin; tokenAt(at) >= 0 && draft.push(tokenAt(at)); ) at++;
    }
  }

  #find(answer: GuessedAnswer): number | null {
    const index = this.#indices.get(answer) ?? new PairIndex();
    this.#indices.set(answer, index);
    index.extend(answer.context);
    return index.find(answer.context);
  }
}

function keyAt(context: readonly number[], at: number): number {
  return at === 0 ? -1 : context[at - 1]! * ID_LIMIT + context[at]!;
}

/** Number of tokens up to index `at` that equal those at the end. */
function matchLength(context: readonly number[], at: number): number {
  let length = 0;
  const last = context.length - 1;
  while (length < LONGEST_MATCH && length <= at && context[at - length] === context[last - length]) length++;
  return length;
}
