// Long because it is one structure: its construction and the cost of ending.
import { InvalidArgumentError } from '@markbase/core';
import type { Rule, State } from './automaton-state.js';
import type { Expression } from './grammar.js';
import { GrammarBudget } from './grammar-budget.js';
import { leastCosts } from './least-costs.js';

/** A grammar as a pushdown automaton without its stack: states with edges, and calls of rules and machines. */
export class Automaton {
  readonly states: readonly State[];
  readonly rules: readonly Rule[];
  /** The control tokens that occur, as symbols. */
  readonly controls: readonly number[];
  readonly #costs: Float64Array;

  private constructor({ states, rules, controls }: Builder) {
    this.states = states;
    this.rules = rules;
    this.controls = [...controls].sort((a, b) => a - b);
    this.#costs = leastCosts(states, rules);
    if (this.costOf(this.rules[0]!.start) === Number.POSITIVE_INFINITY) {
      throw new InvalidArgumentError({
        argument: 'schema',
        expected: 'a schema that some value satisfies',
        received: 'a schema that no finite value satisfies',
      });
    }
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
    const builder = new Builder(budget);
    builder.rule(root);
    while (builder.buildRule()) yield;
    return new Automaton(builder);
  }

  /** Least number of symbols from a state to the end of its rule. */
  costOf(state: number): number {
    return this.#costs[state]!;
  }
}

class Builder {
  readonly states: State[] = [];
  readonly rules: Rule[] = [];
  readonly controls = new Set<number>();
  readonly #budget: GrammarBudget;
  readonly #ruleOf = new Map<Expression, number>();
  readonly #pending: Expression[] = [];
  #built = 0;

  constructor(budget: GrammarBudget) {
    this.#budget = budget;
  }

  rule(body: Expression): number {
    const known = this.#ruleOf.get(body);
    if (known !== undefined) return known;
    const rule = this.rules.length;
    this.rules.push({ start: this.#state() });
    this.#ruleOf.set(body, rule);
    this.#pending.push(body);
    return rule;
  }

  /** Builds one of the requested rules; false when none is left. */
  buildRule(): boolean {
    const body = this.#pending[this.#built];
    if (!body) return false;
    const end = this.#build(body, this.rules[this.#built++]!.start);
    this.states[end]!.isEnd = true;
    return true;
  }

  #state(): number {
    this.#budget.addStates();
    this.states.push({ edges: [], calls: [], machines: [], jumps: [], isEnd: false });
    return this.states.length - 1;
  }

  /** Adds an expression after state `from`; returns the state in which it ends. */
  #build(expression: Expression, from: number): number {
    switch (expression.kind) {
      case 'bytes': {
        let at = from;
        for (const byte of expression.bytes) at = this.#edge(at, byte, byte);
        return at;
      }
      case 'range':
        if (expression.low >= 256) this.controls.add(expression.low);
        return this.#edge(from, expression.low, expression.high);
      case 'machine': {
        const target = this.#state();
        this.states[from]!.machines.push({ machine: expression.machine, target });
        for (const symbol of expression.machine.controls ?? []) this.controls.add(symbol);
        return target;
      }
      case 'sequence':
        return expression.parts.reduce((at, part) => this.#build(part, at), from);
      case 'choice': {
        const end = this.#state();
        for (const option of expression.options) {
          const begin = this.#state();
          this.states[from]!.jumps.push(begin);
          this.states[this.#build(option, begin)]!.jumps.push(end);
        }
        return end;
      }
      case 'repeat':
        return this.#repeat(expression, from);
      case 'reference': {
        const target = this.#state();
        this.states[from]!.calls.push({ rule: this.rule(expression.resolve()), target });
        return target;
      }
    }
  }

  #repeat({ item, least, most }: Extract<Expression, { kind: 'repeat' }>, from: number): number {
    let at = from;
    for (let count = 0; count < least; count++) at = this.#build(item, at);
    if (most === Number.POSITIVE_INFINITY) {
      const loop = this.#state();
      this.states[at]!.jumps.push(loop);
      this.states[this.#build(item, loop)]!.jumps.push(loop);
      return loop;
    }
    const end = this.#state();
    for (let count = least; count < most; count++) {
      this.states[at]!.jumps.push(end);
      at = this.#build(item, at);
    }
    this.states[at]!.jumps.push(end);
    return end;
  }

  #edge(from: number, low: number, high: number): number {
    const target = this.#state();
    this.states[from]!.edges.push({ low, high, target });
    return target;
  }
}
