// Long because it is one automaton: its stacks, its places, and the steps between them.
import type { Automaton } from './automaton.js';
import { FIRST_CONTROL } from './grammar.js';
import type { Machine } from './machine.js';

/**
 * All stacks that a text can lead to. Stacks with the same state on top are one entry and share the rest, so there are
 * at most as many entries as states, however many ways there are to read a text.
 */
interface Stacks {
  readonly id: number;
  readonly entries: readonly Entry[];
  /** True if the empty stack is one of them, so that the text may end. */
  readonly hasEmpty: boolean;
  /** Least number of symbols to the end of the text. */
  readonly cost: number;
}

interface Entry {
  readonly state: number;
  readonly below: Stacks;
}

/** A place in a grammar: everywhere that a text can lead to. */
export interface Place {
  /** The tops are states with edges and places in machines. */
  readonly stacks: Stacks;
  /** The places after each byte: undefined until first used, null for none. No array before the first one. */
  next: (Place | null | undefined)[] | null;
  readonly afterControl: Map<number, Place | null>;
}

/** Maximum number of remembered places and sets of stacks; about 50 MB. */
const MAX_REMEMBERED = 20_000;
/** A place with an array of next places. */
const PLACE_BYTES = 2500;

/**
 * Runs an automaton over symbols. Every step is remembered: a walk through a vocabulary becomes a walk through a table.
 */
export class Matcher {
  readonly #automaton: Automaton;
  readonly #machines = new Map<Machine, number[]>();
  /** Places in machines, whose states come after those of the automaton. */
  readonly #inMachines: { readonly machine: Machine; readonly state: number }[] = [];
  /** States that lead only to the end of their rule. */
  readonly #ends = new Map<number, boolean>();
  readonly #stacks = new Map<string, Stacks>();
  readonly #unions = new Map<string, Stacks>();
  readonly #places = new Map<Stacks, Place>();
  #stacksMade = 0;
  /** Number of states visited to find steps that were not remembered. */
  work = 0;
  readonly #empty: Stacks;
  /** The place before the first symbol. */
  readonly start: Place;

  constructor(automaton: Automaton) {
    this.#automaton = automaton;
    this.#empty = this.#intern([], true);
    this.start = this.#enter([{ state: automaton.data.start, below: this.#empty }])!;
  }

  /** About how much memory the remembered steps take, in bytes. */
  get rememberedBytes(): number {
    return this.#places.size * PLACE_BYTES;
  }

  /** True if the text may end here. */
  isEnd(place: Place): boolean {
    return place.stacks.hasEmpty;
  }

  /** Least number of symbols to an end. */
  costOf(place: Place): number {
    return place.stacks.cost;
  }

  /** The place after a symbol, or null. */
  advance(place: Place, symbol: number): Place | null {
    if (symbol < FIRST_CONTROL) {
      const known = place.next?.[symbol];
      if (known !== undefined) return known;
      const found = this.#compute(place, symbol);
      place.next ??= new Array(FIRST_CONTROL).fill(undefined);
      place.next[symbol] = found;
      return found;
    }
    const known = place.afterControl.get(symbol);
    if (known !== undefined) return known;
    const found = this.#compute(place, symbol);
    place.afterControl.set(symbol, found);
    return found;
  }

  /** Forgets steps when there are too many. Places that are still used remain valid. */
  trim(): void {
    if (this.#places.size <= MAX_REMEMBERED && this.#stacks.size <= 4 * MAX_REMEMBERED) return;
    for (const place of this.#places.values()) {
      place.next = null;
      place.afterControl.clear();
    }
    this.#places.clear();
    this.#stacks.clear();
    this.#unions.clear();
    this.#places.set(this.start.stacks, this.start);
  }

  #compute({ stacks }: Place, symbol: number): Place | null {
    const first: Entry[] = [];
    const { stateCount, data } = this.#automaton;
    const { edges } = data;
    for (const { state, below } of stacks.entries) {
      if (state >= stateCount) {
        const { machine, state: inside } = this.#inMachines[state - stateCount]!;
        const next = machine.advance(inside, symbol);
        if (next >= 0) first.push({ state: this.#stateIn(machine, next), below });
        continue;
      }
      for (let at = edges.first[state]!; at < edges.first[state + 1]!; at += 3) {
        if (symbol < edges.values[at]! || symbol > edges.values[at + 1]!) continue;
        first.push({ state: edges.values[at + 2]!, below });
      }
    }
    return first.length === 0 ? null : this.#enter(first);
  }

  /** The place of everything that some states lead to without a symbol. */
  #enter(first: readonly Entry[]): Place | null {
    const { stateCount, data, machines } = this.#automaton;
    const { calls, machineCalls, jumps } = data;
    const reached = new Map<number, Stacks>();
    // Everything that leads to a state is collected before the state is visited, so that most are visited once.
    const waiting = new Map<number, Stacks[]>();
    const queue: number[] = [];
    const add = (state: number, below: Stacks): void => {
      const list = waiting.get(state);
      if (list) list.push(below);
      else if (this.#costOf(state) < Number.POSITIVE_INFINITY) {
        waiting.set(state, [below]);
        queue.push(state);
      }
    };
    for (const { state, below } of first) add(state, below);
    let mayEnd = false;
    for (let index = 0; index < queue.length; index++) {
      this.work++;
      const state = queue[index]!;
      const added = waiting.get(state)!;
      waiting.delete(state);
      const known = reached.get(state);
      const below = this.#union(known ? [known, ...added] : added);
      if (below === known) continue;
      reached.set(state, below);
      if (state < stateCount) {
        for (let at = jumps.first[state]!; at < jumps.first[state + 1]!; at++) add(jumps.values[at]!, below);
        for (let at = calls.first[state]!; at < calls.first[state + 1]!; at += 2)
          add(calls.values[at]!, this.#under(calls.values[at + 1]!, below));
        for (let at = machineCalls.first[state]!; at < machineCalls.first[state + 1]!; at += 2) {
          const machine = machines[machineCalls.values[at]!]!;
          if (machine.start < 0) continue;
          add(this.#stateIn(machine, machine.start), this.#under(machineCalls.values[at + 1]!, below));
        }
      }
      if (!this.#isEnd(state)) continue;
      if (below.hasEmpty) mayEnd = true;
      for (const entry of below.entries) add(entry.state, entry.below);
    }
    return this.#place(reached, mayEnd);
  }

  #isEnd(state: number): boolean {
    const { stateCount, data } = this.#automaton;
    if (state < stateCount) return data.isEnd[state] === 1;
    const { machine, state: inside } = this.#inMachines[state - stateCount]!;
    return machine.isEnd(inside);
  }

  #costOf(state: number): number {
    const { stateCount } = this.#automaton;
    if (state < stateCount) return this.#automaton.costOf(state);
    const { machine, state: inside } = this.#inMachines[state - stateCount]!;
    return machine.costOf(inside);
  }

  /** The number of a place in a machine. */
  #stateIn(machine: Machine, state: number): number {
    let known = this.#machines.get(machine);
    if (!known) {
      known = [];
      this.#machines.set(machine, known);
    }
    known[state] ??= this.#automaton.stateCount + this.#inMachines.push({ machine, state }) - 1;
    return known[state];
  }

  /** The stacks below a call: a state that only ends its rule adds nothing to them. */
  #under(target: number, below: Stacks): Stacks {
    return this.#onlyEnds(target) ? below : this.#intern([{ state: target, below }], false);
  }

  #onlyEnds(first: number): boolean {
    const known = this.#ends.get(first);
    if (known !== undefined) return known;
    const { isEnd, edges, calls, machineCalls, jumps } = this.#automaton.data;
    let mayEnd = false;
    let isMore = false;
    const seen = new Set([first]);
    for (const state of seen) {
      if (isEnd[state]) mayEnd = true;
      isMore = [edges, calls, machineCalls].some(({ first }) => first[state]! < first[state + 1]!);
      if (isMore) break;
      for (let at = jumps.first[state]!; at < jumps.first[state + 1]!; at++) seen.add(jumps.values[at]!);
    }
    this.#ends.set(first, mayEnd && !isMore);
    return mayEnd && !isMore;
  }

  #union(all: readonly Stacks[]): Stacks {
    const distinct = all.length === 1 ? all : [...new Set(all)];
    if (distinct.length === 1) return distinct[0]!;
    const key = distinct
      .map(({ id }) => id)
      .sort((a, b) => a - b)
      .join();
    const known = this.#unions.get(key);
    if (known) return known;
    const belowOf = new Map<number, Stacks[]>();
    for (const { entries } of distinct) {
      for (const { state, below } of entries) {
        const list = belowOf.get(state);
        if (list) list.push(below);
        else belowOf.set(state, [below]);
      }
    }
    const merged = new Map([...belowOf].map(([state, belows]) => [state, this.#union(belows)]));
    const united = this.#internMap(
      merged,
      distinct.some(({ hasEmpty }) => hasEmpty),
    );
    this.#unions.set(key, united);
    return united;
  }

  #internMap(belowOf: ReadonlyMap<number, Stacks>, hasEmpty: boolean): Stacks {
    const entries = [...belowOf].map(([state, below]) => ({ state, below }));
    return this.#intern(
      entries.sort((a, b) => a.state - b.state),
      hasEmpty,
    );
  }

  #intern(entries: Stacks['entries'], hasEmpty: boolean): Stacks {
    let key = hasEmpty ? '!' : '';
    for (const { state, below } of entries) key += `${state}/${below.id},`;
    const known = this.#stacks.get(key);
    if (known) return known;
    let cost = hasEmpty ? 0 : Number.POSITIVE_INFINITY;
    for (const { state, below } of entries) cost = Math.min(cost, this.#costOf(state) + below.cost);
    const made = { id: this.#stacksMade++, entries, hasEmpty, cost };
    this.#stacks.set(key, made);
    return made;
  }

  #place(reached: Map<number, Stacks>, mayEnd: boolean): Place | null {
    const { stateCount, data } = this.#automaton;
    const { first } = data.edges;
    for (const state of reached.keys()) {
      if (state < stateCount && first[state] === first[state + 1]) reached.delete(state);
    }
    if (reached.size === 0 && !mayEnd) return null;
    const stacks = this.#internMap(reached, mayEnd);
    const known = this.#places.get(stacks);
    if (known) return known;
    const made: Place = { stacks, next: null, afterControl: new Map() };
    this.#places.set(stacks, made);
    return made;
  }
}
