import { InvalidArgumentError } from '@markbase/core';
import { AutomatonBuilder } from './automaton-builder.js';
import type { State } from './automaton-state.js';
import type { Expression } from './grammar.js';
import { GrammarBudget } from './grammar-budget.js';
import { ListMachine } from './language/list-machine.js';
import { TextMachine } from './language/text-machine.js';
import { leastCosts } from './least-costs.js';
import type { Machine } from './machine.js';
import type { MachineData } from './machine-data.js';

/** A list of numbers for each state. */
interface Lists {
  /** [states + 1] index of each state's first value. */
  readonly first: Int32Array;
  readonly values: Int32Array;
}

/** An automaton as typed arrays and plain values, which may move to another thread. */
export interface AutomatonData {
  /** The first state of the grammar. */
  readonly start: number;
  /** [states] 1 where a rule may end. */
  readonly isEnd: Uint8Array;
  /** Low, high and target of edges: reading a symbol in [low, high] leads to the target. */
  readonly edges: Lists;
  /** Calls of rules: the first state of the rule, and the state after it. */
  readonly calls: Lists;
  /** Calls of machines: the index of the machine, and the state after it. */
  readonly machineCalls: Lists;
  /** States that are reached without a symbol. */
  readonly jumps: Lists;
  /** [states] least number of symbols to the end of the state's rule. */
  readonly costs: Float64Array;
  readonly machines: readonly MachineData[];
  /** The control tokens that occur, as symbols. */
  readonly controls: readonly number[];
}

/** A grammar as a pushdown automaton without its stack: states with edges, and calls of rules and machines. */
export class Automaton {
  readonly data: AutomatonData;
  readonly machines: readonly Machine[];

  constructor(data: AutomatonData, machines: readonly Machine[] = data.machines.map(machineOf)) {
    this.data = data;
    this.machines = machines;
  }

  /** Builds at once. @throws InvalidArgumentError for a grammar that is too large or has no finite text */
  static build(root: Expression, budget = new GrammarBudget()): Automaton {
    const building = Automaton.steps(root, budget);
    for (;;) {
      const { done, value } = building.next();
      if (done) return value;
    }
  }

  /** Builds in slices, between which the caller may do other work. @throws as `build` does */
  static *steps(root: Expression, budget: GrammarBudget): Generator<void, Automaton> {
    const builder = new AutomatonBuilder(budget);
    builder.rule(root);
    while (builder.buildRule()) yield;
    return packed(builder);
  }

  /** Number of states. */
  get stateCount(): number {
    return this.data.isEnd.length;
  }

  /** Least number of symbols from a state to the end of its rule. */
  costOf(state: number): number {
    return this.data.costs[state]!;
  }
}

function packed({ states, starts, controls }: AutomatonBuilder): Automaton {
  const costs = leastCosts(states, starts);
  const start = starts[0]!;
  if (costs[start] === Number.POSITIVE_INFINITY) {
    throw new InvalidArgumentError({
      argument: 'schema',
      expected: 'a schema that some value satisfies',
      received: 'a schema that no finite value satisfies',
    });
  }
  const machines = [...new Set(states.flatMap((state) => state.machines.map(({ machine }) => machine)))];
  const indexOf = new Map(machines.map((machine, index) => [machine, index]));
  const data = {
    start,
    isEnd: Uint8Array.from(states, ({ isEnd }) => Number(isEnd)),
    edges: listsOf(states, ({ edges }) => edges.flatMap(({ low, high, target }) => [low, high, target])),
    calls: listsOf(states, ({ calls }) => calls.flatMap(({ rule, target }) => [starts[rule]!, target])),
    machineCalls: listsOf(states, (state) =>
      state.machines.flatMap(({ machine, target }) => [indexOf.get(machine)!, target]),
    ),
    jumps: listsOf(states, ({ jumps }) => jumps),
    costs,
    machines: machines.map((machine) => machine.data),
    controls: [...controls].sort((a, b) => a - b),
  };
  return new Automaton(data, machines);
}

function listsOf(states: readonly State[], valuesOf: (state: State) => readonly number[]): Lists {
  const first = new Int32Array(states.length + 1);
  const values: number[] = [];
  for (const [index, state] of states.entries()) {
    for (const value of valuesOf(state)) values.push(value);
    first[index + 1] = values.length;
  }
  return { first, values: Int32Array.from(values) };
}

function machineOf(data: MachineData): Machine {
  return data.kind === 'list' ? new ListMachine(data) : new TextMachine(data);
}
