import type { State } from './automaton-state.js';
import type { Expression } from './grammar.js';
import type { GrammarBudget } from './grammar-budget.js';

/** Turns expressions into the states of rules. */
export class AutomatonBuilder {
  readonly states: State[] = [];
  /** [rules] their first states. */
  readonly starts: number[] = [];
  readonly controls = new Set<number>();
  readonly #budget: GrammarBudget;
  readonly #ruleOf = new Map<Expression, number>();
  readonly #pending: Expression[] = [];
  #built = 0;

  constructor(budget: GrammarBudget) {
    this.#budget = budget;
  }

  /** The number of a rule, which `buildRule` builds later. */
  rule(body: Expression): number {
    const known = this.#ruleOf.get(body);
    if (known !== undefined) return known;
    const rule = this.starts.length;
    this.starts.push(this.#state());
    this.#ruleOf.set(body, rule);
    this.#pending.push(body);
    return rule;
  }

  /** Builds one of the requested rules; false when none is left. */
  buildRule(): boolean {
    const body = this.#pending[this.#built];
    if (!body) return false;
    const end = this.#build(body, this.starts[this.#built++]!);
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
