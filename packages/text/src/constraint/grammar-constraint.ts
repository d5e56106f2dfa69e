import { InvalidArgumentError } from '@markbase/core';
import type { TokenConstraint } from '../generation/token-constraint.js';
import { EventLoopSlice } from '../tokenizer/event-loop-slice.js';
import type { Tokenizer } from '../tokenizer/index.js';
import type { Automaton } from './automaton.js';
import { FIRST_CONTROL } from './grammar.js';
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
/** Nodes of the vocabulary, and states of the grammar, between two places where the work may pause. */
const NODES_PER_STEP = 2048;
const WORK_PER_STEP = 128;

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

  /** @param stopIds tokens that end an answer */
  constructor(vocabulary: ConstraintVocabulary, automaton: Automaton, stopIds: Iterable<number>) {
    this.#vocabulary = vocabulary;
    this.#stopIds = new Set(stopIds);
    this.#automaton = automaton;
    this.#matcher = new Matcher(automaton);
    this.leastTokens = this.#matcher.costOf(this.#matcher.start) + 1;
  }

  /** About how much memory the work remembered for later answers takes, in bytes. */
  get rememberedBytes(): number {
    return this.#matcher.rememberedBytes + (this.#masks.size * this.#vocabulary.trie.vocabularySize) / 8;
  }

  /** A constraint for one answer. */
  constrain(): TokenConstraint {
    return this.#constrainFrom(this.#matcher.start, false);
  }

  #constrainFrom(start: Place, isOver: boolean): TokenConstraint {
    let place = start;
    let hasEnded = isOver;
    let found: { readonly remainingTokens: number; readonly words: Int32Array } | null = null;
    /** Continues the work until it is done or `isOver`; returns whether it is done. */
    const advance = (work: Iterator<void, Int32Array>, remainingTokens: number, isOver: () => boolean) => {
      for (;;) {
        const { done, value } = work.next();
        if (done) found = { remainingTokens, words: value };
        if (done || isOver()) return done === true;
      }
    };
    return {
      prepare: (remainingTokens, signal) => {
        if (hasEnded || found?.remainingTokens === remainingTokens) return null;
        const work = this.#allowed(place, remainingTokens);
        const slice = new EventLoopSlice(signal);
        const proceed = () => advance(work, remainingTokens, () => slice.isOver);
        if (proceed()) return null;
        const finish = async () => {
          do await slice.pause();
          while (!proceed());
        };
        return finish();
      },
      allowed: (remainingTokens) => {
        if (hasEnded) return null;
        if (found?.remainingTokens !== remainingTokens)
          advance(this.#allowed(place, remainingTokens), remainingTokens, () => false);
        return found!.words;
      },
      accept: (token) => {
        found = null;
        if (hasEnded) return;
        if (this.#matcher.isEnd(place) && this.#stopIds.has(token)) {
          hasEnded = true;
          return;
        }
        place = this.#advance(place, token);
      },
      fork: () => this.#constrainFrom(place, hasEnded),
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
  *#allowed(place: Place, remainingTokens: number): Generator<void, Int32Array> {
    // One token for this one, and one to end the answer.
    const room = remainingTokens - 2;
    const known = this.#masks.get(place) ?? (yield* this.#mask(place, Number.POSITIVE_INFINITY));
    this.#masks.delete(place);
    this.#masks.set(place, known);
    if (this.#masks.size > MAX_MASKS) this.#masks.delete(this.#masks.keys().next().value!);
    return known.largestCost <= room ? known.words : (yield* this.#mask(place, room)).words;
  }

  /** Walks through the vocabulary, in steps of much less than a millisecond. */
  *#mask(place: Place, room: number): Generator<void, Mask> {
    const { trie } = this.#vocabulary;
    const matcher = this.#matcher;
    const words = new Int32Array(Math.ceil(trie.vocabularySize / 32));
    let largestCost = 0;
    const allow = (id: number, cost: number): void => {
      words[id >> 5]! |= 1 << (id & 31);
      largestCost = Math.max(largestCost, cost);
    };
    const places: Place[] = [place];
    const nodes = trie.bytes.length;
    let pauseNode = NODES_PER_STEP;
    let pauseWork = matcher.work + WORK_PER_STEP;
    for (let node = 0; node < nodes; ) {
      if (node >= pauseNode || matcher.work >= pauseWork) {
        matcher.trim();
        yield;
        pauseNode = node + NODES_PER_STEP;
        pauseWork = matcher.work + WORK_PER_STEP;
      }
      const depth = trie.depths[node]!;
      const next = matcher.advance(places[depth - 1]!, trie.bytes[node]!);
      if (!next) {
        node = trie.ends[node]!;
        continue;
      }
      places[depth] = next;
      const cost = matcher.costOf(next);
      if (cost <= room) {
        for (let at = trie.firstId[node]!; at < trie.firstId[node + 1]!; at++) allow(trie.ids[at]!, cost);
      }
      node++;
    }
    for (const symbol of this.#automaton.data.controls) {
      const next = matcher.advance(place, symbol);
      if (next && matcher.costOf(next) <= room) allow(symbol - FIRST_CONTROL, matcher.costOf(next));
    }
    if (matcher.isEnd(place)) for (const id of this.#stopIds) allow(id, 0);
    matcher.trim();
    return { words, largestCost };
  }
}
