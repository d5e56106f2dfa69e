import type { GrammarBudget } from '../grammar-budget.js';
import { type CharacterSet, LAST_CODE } from './character-set.js';
import { type Dfa, dfaOf, type Step } from './dfa.js';
import type { Nfa } from './nfa.js';
import { WORD } from './unicode.js';

/** A place in a pattern: the possible states, and what came before. */
interface Place {
  readonly states: Uint32Array;
  readonly isStart: boolean;
  readonly isAfterWord: boolean;
  readonly key: string;
}

/** Classes of characters that no set of a pattern tells apart. */
interface Classes {
  /** Ranges that cover Unicode. */
  readonly highs: readonly number[];
  readonly classOf: readonly number[];
  /** [sets] classes in each. */
  readonly inSet: readonly (readonly number[])[];
  readonly isWord: readonly boolean[];
}

/** Words of a set of states that are written as fast as one elementary step. */
const WORDS_PER_STEP = 4;

/** The texts in which a pattern finds a match. @throws InvalidArgumentError at a limit */
export function determinise(nfa: Nfa, budget: GrammarBudget): Dfa {
  return new Subsets(nfa, budget).dfa();
}

class Subsets {
  readonly #nfa: Nfa;
  readonly #budget: GrammarBudget;
  readonly #classes: Classes;
  readonly #hasBoundary: boolean;
  readonly #words: number;
  readonly #stamps: Int32Array;
  #stamp = 0;

  constructor(nfa: Nfa, budget: GrammarBudget) {
    this.#nfa = nfa;
    this.#budget = budget;
    this.#hasBoundary = nfa.conditions.some((list) =>
      list.some(({ condition }) => condition === 'boundary' || condition === 'inside'),
    );
    this.#classes = classesOf(this.#hasBoundary ? [...nfa.sets, WORD] : nfa.sets, budget);
    this.#words = Math.ceil(nfa.steps.length / 32);
    this.#stamps = new Int32Array(nfa.steps.length);
  }

  dfa(): Dfa {
    const start = new Uint32Array(this.#words);
    start[0] = 1;
    return dfaOf<Place>(
      {
        start: this.#place(start, true, false),
        keyOf: ({ key }) => key,
        isEnd: (place) => this.#closure(place, false, true).isMatched,
        stepsOf: (place) => this.#stepsOf(place),
      },
      this.#budget,
    );
  }

  #place(states: Uint32Array, isStart: boolean, isAfterWord: boolean): Place {
    this.#budget.addSteps(Math.ceil(this.#words / WORDS_PER_STEP));
    const key = String.fromCharCode(Number(isStart), Number(isAfterWord), ...new Uint16Array(states.buffer));
    return { states, isStart, isAfterWord, key };
  }

  #stepsOf(place: Place): Step<Place>[] {
    const { isWord, classOf, highs, inSet } = this.#classes;
    const reached: (Uint32Array | undefined)[] = new Array(isWord.length);
    for (const isBeforeWord of this.#hasBoundary ? [false, true] : [false]) {
      const { states, isMatched } = this.#closure(place, isBeforeWord, false);
      for (const state of isMatched ? [this.#nfa.matched] : states) {
        for (const { set, to } of this.#nfa.steps[state]!) {
          for (const index of inSet[set]!) {
            if (this.#hasBoundary && isWord[index] !== isBeforeWord) continue;
            reached[index] ??= new Uint32Array(this.#words);
            reached[index]![to >> 5]! |= 1 << (to & 31);
          }
          this.#budget.addSteps();
        }
      }
    }
    const places = reached.map((states, index) =>
      states ? this.#place(states, false, this.#hasBoundary && isWord[index]!) : undefined,
    );
    return highs.map((high, range) => ({ high, next: places[classOf[range]!] ?? null }));
  }

  /** The states that a place leads to without a character. */
  #closure(place: Place, isBeforeWord: boolean, isAtEnd: boolean): { states: number[]; isMatched: boolean } {
    const { jumps, conditions, matched } = this.#nfa;
    const isBoundary = place.isAfterWord !== isBeforeWord;
    const holds = { start: place.isStart, end: isAtEnd, boundary: isBoundary, inside: !isBoundary };
    const stamp = ++this.#stamp;
    const states: number[] = [];
    const visit = (state: number): void => {
      if (this.#stamps[state] === stamp) return;
      this.#stamps[state] = stamp;
      states.push(state);
    };
    for (const [word, bits] of place.states.entries()) {
      for (let rest = bits; rest !== 0; rest &= rest - 1) visit(word * 32 + 31 - Math.clz32(rest & -rest));
    }
    for (let next = 0; next < states.length; next++) {
      const state = states[next]!;
      if (state === matched) return { states, isMatched: true };
      for (const to of jumps[state]!) visit(to);
      for (const { condition, to } of conditions[state]!) if (holds[condition]) visit(to);
    }
    this.#budget.addSteps(states.length);
    return { states, isMatched: false };
  }
}

function classesOf(sets: readonly CharacterSet[], budget: GrammarBudget): Classes {
  const ends = new Set([LAST_CODE]);
  for (const [low, high] of sets.flat()) {
    if (low > 0) ends.add(low - 1);
    ends.add(high);
  }
  const highs = [...ends].sort((a, b) => a - b);
  budget.addSteps(highs.length * sets.length);
  const next = sets.map(() => 0);
  const ids = new Map<string, number>();
  const members: number[][] = [];
  const classOf = highs.map((high) => {
    const inside: number[] = [];
    for (const [index, set] of sets.entries()) {
      while (next[index]! < set.length && set[next[index]!]![1] < high) next[index]!++;
      const range = set[next[index]!];
      if (range && range[0] <= high) inside.push(index);
    }
    const key = inside.join();
    if (!ids.has(key)) {
      ids.set(key, members.length);
      members.push(inside);
    }
    return ids.get(key)!;
  });
  const inSet = sets.map((_, set) => [...members.keys()].filter((id) => members[id]!.includes(set)));
  const word = sets.indexOf(WORD);
  return { highs, classOf, inSet, isWord: members.map((inside) => inside.includes(word)) };
}
