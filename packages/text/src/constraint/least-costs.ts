import type { State } from './automaton-state.js';

/**
 * Least number of symbols from each state to the end of its rule: the cheapest states are settled first, then those
 * that lead to them (Knuth 1977, the generalization of Dijkstra's algorithm to grammars).
 *
 * @param starts [rules] their first states
 */
export function leastCosts(states: readonly State[], starts: readonly number[]): Float64Array {
  const costs = new Float64Array(states.length).fill(Number.POSITIVE_INFINITY);
  const leadTo = sourcesOf(states, starts);
  const byCost: (number[] | undefined)[] = [];
  const further = new Map<number, number[]>();
  const lower = (state: number, cost: number): void => {
    if (!(cost < costs[state]!)) return;
    costs[state] = cost;
    if (cost < MAX_LISTS) {
      byCost[cost] ??= [];
      byCost[cost].push(state);
      return;
    }
    const list = further.get(cost);
    if (list) list.push(state);
    else further.set(cost, [state]);
  };
  const settle = (list: readonly number[], cost: number): void => {
    for (let next = 0; next < list.length; next++) {
      const state = list[next]!;
      if (costs[state] !== cost) continue;
      for (const from of leadTo[state] ?? []) lower(from, costFrom(states[from]!, starts, costs));
    }
  };
  for (const [state, { isEnd }] of states.entries()) if (isEnd) lower(state, 0);
  // The costs of machines are known from the start; they count once the states after them are settled.
  for (let cost = 0; cost < byCost.length; cost++) {
    const list = byCost[cost];
    if (list) settle(list, cost);
  }
  while (further.size > 0) {
    const cost = Math.min(...further.keys());
    settle(further.get(cost)!, cost);
    further.delete(cost);
  }
  return costs;
}

/** Each cost below this has a separate list; few grammars have higher costs. */
const MAX_LISTS = 1_000_000;

/** For each state, the states with a cost that depends on it. */
function sourcesOf(states: readonly State[], starts: readonly number[]): (number[] | undefined)[] {
  const sources: (number[] | undefined)[] = new Array(states.length);
  const add = (state: number, from: number): void => {
    const known = sources[state];
    if (known) known.push(from);
    else sources[state] = [from];
  };
  for (const [from, { edges, calls, jumps, machines }] of states.entries()) {
    for (const { target } of edges) add(target, from);
    for (const { target } of machines) add(target, from);
    for (const target of jumps) add(target, from);
    for (const { rule, target } of calls) {
      add(target, from);
      add(starts[rule]!, from);
    }
  }
  return sources;
}

function costFrom(
  { edges, calls, jumps, machines, isEnd }: State,
  starts: readonly number[],
  costs: Float64Array,
): number {
  let cost = isEnd ? 0 : Number.POSITIVE_INFINITY;
  for (const { target } of edges) cost = Math.min(cost, 1 + costs[target]!);
  for (const { machine, target } of machines) {
    if (machine.start >= 0) cost = Math.min(cost, machine.costOf(machine.start) + costs[target]!);
  }
  for (const target of jumps) cost = Math.min(cost, costs[target]!);
  for (const { rule, target } of calls) cost = Math.min(cost, costs[starts[rule]!]! + costs[target]!);
  return cost;
}
