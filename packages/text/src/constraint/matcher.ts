import type { Automaton } from './automaton.js';
import { FIRST_CONTROL } from './grammar.js';

/** The place where nothing matches any more. */
export const DEAD = -1;
const UNKNOWN = -2;

/** Where to continue when a called rule ends: a state, and the frame below it on the stack. Identified by its index. */
interface Frame {
  readonly state: number;
  /** -1 at the bottom. */
  readonly below: number;
  /** Minimum number of symbols to the end of the whole text. */
  readonly cost: number;
}

/** All stacks that a text may have led to. */
interface Place {
  /** Frames whose states have edges. */
  readonly frames: readonly number[];
  readonly isEnd: boolean;
  readonly cost: number;
  /** The place after each byte, computed on first use. */
  readonly next: Int32Array;
  readonly afterControl: Map<number, number>;
}

/**
 * Runs an automaton over symbols. Sets of stacks are interned and numbered ("places"), and every step is remembered, so
 * that walking through a vocabulary becomes walking through a table.
 */
export class Matcher {
  readonly #automaton: Automaton;
  readonly #frames: Frame[] = [];
  readonly #frameIds = new Map<string, number>();
  readonly #places: Place[] = [];
  readonly #placeIds = new Map<string, number>();
  /** The place before the first symbol. */
  readonly start: number;

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    const collector = new Set<number>();
    const isEnd = this.#enter(automaton.rules[0]!.start, -1, collector, new Set());
    this.start = this.#intern(collector, isEnd);
  }

  /** True if the text may end here. */
  isEnd(place: number): boolean {
    return this.#places[place]!.isEnd;
  }

  /** Minimum number of symbols to an end. */
  costOf(place: number): number {
    return this.#places[place]!.cost;
  }

  /** The place after a symbol, or DEAD. */
  advance(place: number, symbol: number): number {
    const { next, afterControl } = this.#places[place]!;
    if (symbol < FIRST_CONTROL) {
      const known = next[symbol]!;
      if (known !== UNKNOWN) return known;
      const found = this.#compute(place, symbol);
      next[symbol] = found;
      return found;
    }
    const known = afterControl.get(symbol);
    if (known !== undefined) return known;
    const found = this.#compute(place, symbol);
    afterControl.set(symbol, found);
    return found;
  }

  #compute(place: number, symbol: number): number {
    const reached = new Set<number>();
    const visited = new Set<number>();
    let isEnd = false;
    for (const id of this.#places[place]!.frames) {
      const { state, below } = this.#frames[id]!;
      for (const { low, high, target } of this.#automaton.states[state]!.edges) {
        if (symbol >= low && symbol <= high) isEnd = this.#enter(target, below, reached, visited) || isEnd;
      }
    }
    return reached.size === 0 && !isEnd ? DEAD : this.#intern(reached, isEnd);
  }

  /** Adds every frame with edges that can be reached without a symbol; returns true if the text may end. */
  #enter(state: number, below: number, reached: Set<number>, visited: Set<number>): boolean {
    const id = this.#frame(state, below);
    if (visited.has(id)) return false;
    visited.add(id);
    const { edges, calls, jumps, isEnd } = this.#automaton.states[state]!;
    if (edges.length > 0) reached.add(id);
    let mayEnd = false;
    for (const target of jumps) mayEnd = this.#enter(target, below, reached, visited) || mayEnd;
    for (const { rule, target } of calls) {
      const start = this.#automaton.rules[rule]!.start;
      mayEnd = this.#enter(start, this.#frame(target, below), reached, visited) || mayEnd;
    }
    if (!isEnd) return mayEnd;
    if (below === -1) return true;
    const { state: after, below: rest } = this.#frames[below]!;
    return this.#enter(after, rest, reached, visited) || mayEnd;
  }

  #frame(state: number, below: number): number {
    const key = `${state}/${below}`;
    const known = this.#frameIds.get(key);
    if (known !== undefined) return known;
    const cost = this.#automaton.costOf(state) + (below === -1 ? 0 : this.#frames[below]!.cost);
    this.#frames.push({ state, below, cost });
    this.#frameIds.set(key, this.#frames.length - 1);
    return this.#frames.length - 1;
  }

  #intern(reached: ReadonlySet<number>, isEnd: boolean): number {
    const frames = [...reached].sort((a, b) => a - b);
    const key = `${isEnd}:${frames.join()}`;
    const known = this.#placeIds.get(key);
    if (known !== undefined) return known;
    const costs = frames.map((id) => this.#frames[id]!.cost);
    const cost = Math.min(isEnd ? 0 : Number.POSITIVE_INFINITY, ...costs);
    const next = new Int32Array(FIRST_CONTROL).fill(UNKNOWN);
    this.#places.push({ frames, isEnd, cost, next, afterControl: new Map() });
    this.#placeIds.set(key, this.#places.length - 1);
    return this.#places.length - 1;
  }
}
