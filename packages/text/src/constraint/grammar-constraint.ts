import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Automaton } from './automaton.js';
import { type Expression, FIRST_CONTROL } from './grammar.js';
import { DEAD, Matcher } from './matcher.js';
import { bytesOfToken, type TokenTrie } from './token-trie.js';

/** The tokens that are allowed at a place. */
interface Mask {
  readonly words: Int32Array;
  /** Largest cost of the place that an allowed token leads to. */
  readonly largestCost: number;
}

/** What is needed to constrain a vocabulary; made once per tokenizer. */
export interface ConstraintVocabulary {
  readonly tokenizer: Tokenizer;
  readonly trie: TokenTrie;
}

/** Number of places whose masks are remembered; for 262,144 tokens a mask has 32 KiB. */
const MAX_MASKS = 512;

/**
 * A grammar for one vocabulary: makes constraints that allow exactly the texts of the grammar. Answers share work, such
 * as the mask for the inside of a string.
 */
export class TokenGrammar {
  /** Minimum number of tokens in an answer, including its end, if every token were one symbol. */
  readonly leastTokens: number;
  readonly #vocabulary: ConstraintVocabulary;
  readonly #stopIds: ReadonlySet<number>;
  readonly #automaton: Automaton;
  readonly #matcher: Matcher;
  readonly #masks = new Map<number, Mask>();

  /**
   * @param stopIds tokens that end an answer
   * @throws InvalidArgumentError for a grammar that is too large or cannot be satisfied
   */
  constructor(vocabulary: ConstraintVocabulary, root: Expression, stopIds: Iterable<number>) {
    this.#vocabulary = vocabulary;
    this.#stopIds = new Set(stopIds);
    this.#automaton = new Automaton(root);
    this.#matcher = new Matcher(this.#automaton);
    this.leastTokens = this.#matcher.costOf(this.#matcher.start) + 1;
  }

  /** A constraint for one answer. */
  constrain(): TokenConstraint {
    let place = this.#matcher.start;
    let hasEnded = false;
    return {
      allowed: (remainingTokens) => {
        if (!hasEnded) return this.#allowed(place, remainingTokens);
        return null;
      },
      accept: (token) => {
        if (hasEnded) return;
        if (this.#matcher.isEnd(place) && this.#stopIds.has(token)) {
          hasEnded = true;
          return;
        }
        place = this.#advance(place, token);
      },
    };
  }

  #advance(from: number, token: number): number {
    const bytes = bytesOfToken(this.#vocabulary.tokenizer, token);
    let place = from;
    for (const symbol of bytes ?? [FIRST_CONTROL + token]) {
      place = this.#matcher.advance(place, symbol);
      if (place !== DEAD) continue;
      throw new InvalidArgumentError({
        argument: 'token',
        expected: 'a token that the constraint allows',
        received: token,
        hint: 'Choose a token from the mask that `allowed` returned',
      });
    }
    return place;
  }

  /**
   * All tokens that the grammar allows, or, if room is short, only those after which the answer can still end in time.
   */
  #allowed(place: number, remainingTokens: number): Int32Array {
    // One token is the next one, and one ends the answer.
    const room = remainingTokens - 2;
    const known = this.#masks.get(place) ?? this.#mask(place, Number.POSITIVE_INFINITY);
    this.#masks.delete(place);
    this.#masks.set(place, known);
    if (this.#masks.size > MAX_MASKS) this.#masks.delete(this.#masks.keys().next().value!);
    return known.largestCost <= room ? known.words : this.#mask(place, room).words;
  }

  #mask(place: number, room: number): Mask {
    const { trie } = this.#vocabulary;
    const words = new Int32Array(Math.ceil(trie.vocabularySize / 32));
    let largestCost = 0;
    const allow = (id: number, cost: number): void => {
      words[id >> 5]! |= 1 << (id & 31);
      largestCost = Math.max(largestCost, cost);
    };
    const places = new Int32Array(trie.longest + 1);
    places[0] = place;
    const nodes = trie.bytes.length;
    for (let node = 0; node < nodes; ) {
      const depth = trie.depths[node]!;
      const next = this.#matcher.advance(places[depth - 1]!, trie.bytes[node]!);
      if (next === DEAD) {
        node = trie.ends[node]!;
        continue;
      }
      places[depth] = next;
      const cost = this.#matcher.costOf(next);
      if (cost <= room) {
        for (let at = trie.firstId[node]!; at < trie.firstId[node + 1]!; at++) allow(trie.ids[at]!, cost);
      }
      node++;
    }
    for (const symbol of this.#automaton.controls) {
      const next = this.#matcher.advance(place, symbol);
      if (next !== DEAD && this.#matcher.costOf(next) <= room)
        allow(symbol - FIRST_CONTROL, this.#matcher.costOf(next));
    }
    if (this.#matcher.isEnd(place)) for (const id of this.#stopIds) allow(id, 0);
    return { words, largestCost };
  }
}
