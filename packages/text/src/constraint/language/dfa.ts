import type { GrammarBudget } from '../grammar-budget.js';
import { LAST_CODE } from './character-set.js';

/** No state: no continuation is in the language. */
export const NO_STATE = -1;

/** A language of code points as a deterministic automaton; every state leads to an end. */
export interface Dfa {
  /** NO_STATE when the language is empty. */
  readonly start: number;
  /** [states] 1 where a text may end. */
  readonly isEnd: Uint8Array;
  /** [states + 1] index of the first range of each state; the ranges of a state cover all of Unicode. */
  readonly first: Int32Array;
  /** [ranges] the last code point of each. */
  readonly highs: Int32Array;
  /** [ranges] the state that each leads to, or NO_STATE. */
  readonly targets: Int32Array;
}

/** The step from a state for the code points after the previous step, up to `high`. */
export interface Step<S> {
  readonly high: number;
  /** Null = leads nowhere. */
  readonly next: S | null;
}

/** Describes a deterministic automaton with any values as states. */
export interface Description<S> {
  readonly start: S;
  /** A key that is equal for equal states. */
  keyOf(state: S): string | number;
  isEnd(state: S): boolean;
  /** In order of code points; those above the last step lead nowhere. */
  stepsOf(state: S): readonly Step<S>[];
}

/**
 * Maximum number of states of one language: they are sets of places in a pattern, which may double with every
 * character.
 */
const MAX_LANGUAGE_STATES = 20_000;

/**
 * Explores an automaton from its start, and leaves out states that lead to no end.
 *
 * @throws InvalidArgumentError at a limit
 */
export function dfaOf<S>(
  description: Description<S>,
  budget: GrammarBudget,
  maxStates = MAX_LANGUAGE_STATES,
): Dfa {
  const ids = new Map<string | number, number>();
  const found: S[] = [];
  const idOf = (state: S): number => {
    const key = description.keyOf(state);
    const known = ids.get(key);
    if (known !== undefined) return known;
    budget.addStates();
    if (found.length >= maxStates) budget.refuse(`a language with at most ${maxStates} states`);
    ids.set(key, found.length);
    found.push(state);
    return found.length - 1;
  };
  idOf(description.start);
  const first = [0];
  const highs: number[] = [];
  const targets: number[] = [];
  for (let id = 0; id < found.length; id++) {
    const begin = highs.length;
    let last = -1;
    const add = (high: number, target: number): void => {
      if (high <= last) return;
      last = high;
      if (highs.length > begin && targets.at(-1) === target) highs[highs.length - 1] = high;
      else {
        highs.push(high);
        targets.push(target);
      }
    };
    for (const step of description.stepsOf(found[id]!))
      add(step.high, step.next === null ? NO_STATE : idOf(step.next));
    add(LAST_CODE, NO_STATE);
    budget.addSteps(highs.length - begin);
    first.push(highs.length);
  }
  return trimmed({
    start: 0,
    isEnd: Uint8Array.from(found, (state) => Number(description.isEnd(state))),
    first: Int32Array.from(first),
    highs: Int32Array.from(highs),
    targets: Int32Array.from(targets),
  });
}

/** The same language without states that lead to no end. */
function trimmed(dfa: Dfa): Dfa {
  const leadTo: number[][] = Array.from(dfa.isEnd, () => []);
  for (let from = 0; from < dfa.isEnd.length; from++) {
    for (let range = dfa.first[from]!; range < dfa.first[from + 1]!; range++) {
      const to = dfa.targets[range]!;
      if (to !== NO_STATE) leadTo[to]!.push(from);
    }
  }
  const isLive = new Uint8Array(dfa.isEnd);
  const queue = [...dfa.isEnd.keys()].filter((state) => dfa.isEnd[state]);
  for (let next = 0; next < queue.length; next++) {
    for (const from of leadTo[queue[next]!]!) {
      if (isLive[from]) continue;
      isLive[from] = 1;
      queue.push(from);
    }
  }
  if (queue.length === isLive.length) return dfa;
  const kept = [...isLive.keys()].filter((state) => isLive[state]);
  const renamed = new Int32Array(isLive.length).fill(NO_STATE);
  for (const [index, state] of kept.entries()) renamed[state] = index;
  const first = [0];
  const highs: number[] = [];
  const targets: number[] = [];
  for (const state of kept) {
    for (let range = dfa.first[state]!; range < dfa.first[state + 1]!; range++) {
      const target = dfa.targets[range]!;
      highs.push(dfa.highs[range]!);
      targets.push(target === NO_STATE ? NO_STATE : renamed[target]!);
    }
    first.push(highs.length);
  }
  return {
    start: renamed[dfa.start]!,
    isEnd: Uint8Array.from(kept, (state) => dfa.isEnd[state]!),
    first: Int32Array.from(first),
    highs: Int32Array.from(highs),
    targets: Int32Array.from(targets),
  };
}

/** The state after a code point. */
function advance(dfa: Dfa, state: number, code: number): number {
  if (state === NO_STATE) return NO_STATE;
  return dfa.targets[rangeOf(dfa, state, code)]!;
}

/** Index of the range of a state that a code point is in. */
export function rangeOf(dfa: Dfa, state: number, code: number): number {
  let low = dfa.first[state]!;
  let high = dfa.first[state + 1]! - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (dfa.highs[middle]! < code) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** True if a text is in the language. */
export function includes(dfa: Dfa, text: string): boolean {
  let state = dfa.start;
  for (const character of text) state = advance(dfa, state, character.codePointAt(0)!);
  return state !== NO_STATE && dfa.isEnd[state] === 1;
}

/** True if the language has no texts. */
export function isEmpty(dfa: Dfa): boolean {
  return dfa.start === NO_STATE;
}
