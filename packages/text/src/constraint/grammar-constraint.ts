import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import { Automaton } from './automaton.js';
import { type Expression, FIRST_CONTROL } from './grammar.js';
import { GrammarBudget, type GrammarLimits } from './grammar-budget.js';
import { Matcher, type Place } from './matcher.js';
import { bytesOfToken, type TokenTrie } from './token-trie.js';

/** The tokens that may follow a place. */
interface Mask {
  readonly words: Int32Array;
  /** Largest cost of the place after an allowed token. */
  readonly largestCost: number;
}

/** What a vocabulary needs to be constrained; made once per tokenizer. */
export interface ConstraintVocabulary {
  readonly tokenizer: Tokenizer;
  readonly trie: TokenTrie;
}

/** Places whose masks are remembered; 262,144 tokens make 32 KiB each. */
const MAX_MASKS = 512;

/**
 * A grammar for one vocabulary: makes constraints that let an answer be any text of the grammar and nothing else. Work
 * that one answer did, such as the mask of the inside of a string, serves the next.
 */
export class TokenGrammar {
  /** Least tokens of an answer, its end included, when every token is one symbol. */
  readonly leastTokens: number;
  readonly #vocabulary: ConstraintVocabulary;
  readonly #stopIds: ReadonlySet<number>;
  readonly #automaton: Automaton;
  readonly #matcher: Matcher;
  readonly #masks = new Map<Place, Mask>();

  private constructor(vocabulary: ConstraintVocabulary, automaton: Automaton, stopIds: Iterable<number>) {
    this.#vocabulary = vocabulary;
    this.#stopIds = new Set(stopIds);
    this.#automaton = automaton;
    this.#matcher = new Matcher(automaton);
    this.leastTokens = this.#matcher.costOf(this.#matcher.start) + 1;
  }

  /**
   * Builds the grammar in slices, between which the event loop turns.
   *
   * @param stopIds tokens that end an answer
   * @throws InvalidArgumentError for a grammar that is too large or that nothing satisfies; the reason of an aborted
   *   signal
   */
  static async create(
    vocabulary: ConstraintVocabulary,
    root: Expression,
    stopIds: Iterable<number>,
    limits: GrammarLimits & { readonly budget?: GrammarBudget } = {},
  ): Promise<TokenGrammar> {
    const slice = new EventLoopSlice(limits.signal);
    const building = Automaton.steps(root, limits.budget ?? new GrammarBudget(limits));
    for (;;) {
      const { done, value } = building.next();
      if (done) return new TokenGrammar(vocabulary, value, stopIds);
      if (slice.isOver) await slice.pause();
    }
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

  #advance(from: Place, token: number): Place {
    const bytes = bytesOfToken(this.#vocabulary.tokenizer, token);
    let place = from;
    for (const symbol of bytes ?? [FIRST_CONTROL + token]) {
      const next = this.#matcher.advance(place, symbol);
      if (next) {
        place = next;
        continue;
      }
      throw new InvalidArgumentError({
        argument: 'token',
        expected: 'a token that the constraint allows',
        received: token,
        hint: 'Choose tokens with the mask that `allowed` gave',
      });
    }
    return place;
  }

  /** Every token that the grammar allows, if there is room to end after it; otherwise those that end in time. */
  #allowed(place: Place, remainingTokens: number): Int32Array {
    this.#matcher.trim();
    // One token for this one, and one to end the answer.
    const room = remainingTokens - 2;
    const known = this.#masks.get(place) ?? this.#mask(place, Number.POSITIVE_INFINITY);
    this.#masks.delete(place);
    this.#masks.set(place, known);
    if (this.#masks.size > MAX_MASKS) this.#masks.delete(this.#masks.keys().next().value!);
    return known.largestCost <= room ? known.words : this.#mask(place, room).words;
  }

  #mask(place: Place, room: number): Mask {
    const { trie } = this.#vocabulary;
    const words = new Int32Array(Math.ceil(trie.vocabularySize / 32));
    let largestCost = 0;
    const allow = (id: number, cost: number): void => {
      words[id >> 5]! |= 1 << (id & 31);
      largestCost = Math.max(largestCost, cost);
    };
    const places: Place[] = [place];
    const nodes = trie.bytes.length;
    for (let node = 0; node < nodes; ) {
      const depth = trie.depths[node]!;
      const next = this.#matcher.advance(places[depth - 1]!, trie.bytes[node]!);
      if (!next) {
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
      if (next && this.#matcher.costOf(next) <= room)
        allow(symbol - FIRST_CONTROL, this.#matcher.costOf(next));
    }
    if (this.#matcher.isEnd(place)) for (const id of this.#stopIds) allow(id, 0);
    return { words, largestCost };
  }
}
