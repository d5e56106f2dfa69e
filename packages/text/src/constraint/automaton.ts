import { InvalidArgumentError } from '@markbase/core';
import type { Expression } from './grammar.js';

/** A symbol in [low, high] leads to `target`. */
export interface Edge {
  readonly low: number;
  readonly high: number;
  readonly target: number;
}

/** A state of one rule. `calls` enter another rule and continue at `target` when that rule ends. */
interface State {
  readonly edges: Edge[];
  readonly calls: { readonly rule: number; readonly target: number }[];
  readonly jumps: number[];
  isEnd: boolean;
}

interface Rule {
  readonly start: number;
}

/**
 * Maximum number of states of a grammar. Schemas that need more are refused, such as strings of a million characters.
 */
const MAX_STATES = 200_000;

/**
 * A grammar as a pushdown automaton, without its stack: states with edges and calls of rules. `cost` is the minimum
 * number of symbols from a state to the end of its rule.
 */
export class Automaton {
  readonly states: readonly State[];
  readonly rules: readonly Rule[];
  /** Control tokens that occur in the grammar, as symbols. */
  readonly controls: readonly number[];
  readonly #costs: Float64Array;

  /** @throws InvalidArgumentError for a grammar that is too large or cannot be satisfied */
  constructor(root: Expression) {
    const builder = new Builder(root);
    this.states = builder.states;
    this.rules = builder.rules;
    this.controls = [...builder.controls].sort((a, b) => a - b);
    this.#costs = costsOf(this.states, this.rules);
    if (this.costOf(this.rules[0]!.start) === Number.POSITIVE_INFINITY) {
      throw new InvalidArgumentError({
        argument: 'schema',
        expected: 'a schema that some value satisfies',
        received: 'a schema that no finite value satisfies',
      });
    }
  }

  /** Minimum number of symbols from a state to the end of its rule. */
  costOf(state: number): number {
    return this.#costs[state]!;
  }
}

class Builder {
  readonly states: State[] = [];
  readonly rules: Rule[] = [];
  readonly controls = new Set<number>();
  readonly #ruleOf = new Map<Expression, number>();
  readonly #pending: { readonly rule: number; readonly body: Expression }[] = [];

  constructor(root: Expression) {
    this.#rule(root);
    for (let next = this.#pending.shift(); next; next = this.#pending.shift()) {
      const end = this.#build(next.body, this.rules[next.rule]!.start);
      this.states[end]!.isEnd = true;
    }
  }

  #rule(body: Expression): number {
    const known = this.#ruleOf.get(body);
    if (known !== undefined) return known;
    const rule = this.rules.length;
    this.rules.push({ start: this.#state() });
    this.#ruleOf.set(body, rule);
    this.#pending.push({ rule, body });
    return rule;
  }

  #state(): number {
    if (this.states.length >= MAX_STATES) {
      throw new InvalidArgumentError({
        argument: 'schema',
        expected: `a grammar of at most ${MAX_STATES} states`,
        received: 'a larger one',
        hint: 'Lower maxLength, maxItems or the size of enum',
      });
    }
    this.states.push({ edges: [], calls: [], jumps: [], isEnd: false });
    return this.states.length - 1;
  }

  /** Appends an expression to state `from`; returns the state in which it ends. */
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
        this.states[from]!.calls.push({ rule: this.#rule(expression.resolve()), target });
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

/** Works backwards from the ends of rules: whenever a state gets cheaper, the states that lead to it are revisited. */
function costsOf(states: readonly State[], rules: readonly Rule[]): Float64Array {
  const leadTo: number[][] = states.map(() => []);
  for (const [index, { edges, calls, jumps }] of states.entries()) {
    for (const { target } of edges) leadTo[target]!.push(index);
    for (const target of jumps) leadTo[target]!.push(index);
    for (const { rule, target } of calls) {
      leadTo[target]!.push(index);
      leadTo[rules[rule]!.start]!.push(index);
    }
  }
  const costs = new Float64Array(states.length).fill(Number.POSITIVE_INFINITY);
  const queue = [...states.keys()].filter((index) => states[index]!.isEnd);
  for (const index of queue) costs[index] = 0;
  for (let next = 0; next < queue.length; next++) {
    for (const index of leadTo[queue[next]!]!) {
      const cost = costFrom(states[index]!, rules, costs);
      if (cost >= costs[index]!) continue;
      costs[index] = cost;
      queue.push(index);
    }
  }
  return costs;
}

function costFrom(
  { edges, calls, jumps, isEnd }: State,
  rules: readonly Rule[],
  costs: Float64Array,
): number {
  let cost = isEnd ? 0 : Number.POSITIVE_INFINITY;
  for (const { target } of edges) cost = Math.min(cost, 1 + costs[target]!);
  for (const target of jumps) cost = Math.min(cost, costs[target]!);
  for (const { rule, target } of calls) cost = Math.min(cost, costs[rules[rule]!.start]! + costs[target]!);
  return cost;
}
