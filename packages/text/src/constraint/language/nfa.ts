import type { AST } from '@eslint-community/regexpp';
import type { GrammarBudget } from '../grammar-budget.js';
import { ANY_CHARACTER, type CharacterSet } from './character-set.js';
import { charactersOf, type Modes } from './unicode.js';

/** A condition on the place between two characters. */
export type Condition = 'start' | 'end' | 'boundary' | 'inside';

/** A pattern as states and steps: on a character of a set, on no character, and under a condition. */
export interface Nfa {
  readonly sets: readonly CharacterSet[];
  readonly steps: readonly (readonly { readonly set: number; readonly to: number }[])[];
  readonly jumps: readonly (readonly number[])[];
  readonly conditions: readonly (readonly { readonly condition: Condition; readonly to: number }[])[];
  /** Once this state is reached, the text may continue with anything. */
  readonly matched: number;
}

/** Maximum number of states of a pattern before it is made deterministic. */
const MAX_PATTERN_STATES = 20_000;

/** Thrown for a pattern that cannot be lowered; `reason` says what would be supported. */
export class PatternRefusal {
  readonly reason: string;
  constructor(reason: string) {
    this.reason = reason;
  }
}

/**
 * Lowers the alternatives of a parsed pattern; state 0 is the start.
 *
 * @param isAnchored a match must begin at the start of the text
 * @throws PatternRefusal for patterns that are not regular
 */
export function nfaOf(
  alternatives: readonly AST.Element[][],
  isAnchored: boolean,
  budget: GrammarBudget,
): Nfa {
  return new Builder(budget).build(alternatives, isAnchored);
}

class Builder {
  readonly #sets: CharacterSet[] = [];
  readonly #setIds = new Map<string, number>();
  readonly #steps: { set: number; to: number }[][] = [];
  readonly #jumps: number[][] = [];
  readonly #conditions: { condition: Condition; to: number }[][] = [];
  readonly #budget: GrammarBudget;

  constructor(budget: GrammarBudget) {
    this.#budget = budget;
  }

  build(alternatives: readonly AST.Element[][], isAnchored: boolean): Nfa {
    const start = this.#state();
    if (!isAnchored) this.#step(start, ANY_CHARACTER, start);
    const matched = this.#state();
    this.#choice(alternatives, start, matched, { ignoresCase: false, dotAll: false });
    this.#step(matched, ANY_CHARACTER, matched);
    return {
      sets: this.#sets,
      steps: this.#steps,
      jumps: this.#jumps,
      conditions: this.#conditions,
      matched,
    };
  }

  #state(): number {
    this.#budget.addSteps();
    if (this.#steps.length >= MAX_PATTERN_STATES)
      throw new PatternRefusal(`a pattern with at most ${MAX_PATTERN_STATES} positions`);
    this.#steps.push([]);
    this.#jumps.push([]);
    this.#conditions.push([]);
    return this.#steps.length - 1;
  }

  #step(from: number, set: CharacterSet, to: number): void {
    const key = set.join();
    let id = this.#setIds.get(key);
    if (id === undefined) {
      id = this.#sets.length;
      this.#sets.push(set);
      this.#setIds.set(key, id);
    }
    this.#steps[from]!.push({ set: id, to });
  }

  #choice(alternatives: readonly (readonly AST.Element[])[], from: number, to: number, modes: Modes): void {
    for (const elements of alternatives) {
      let at = this.#state();
      this.#jumps[from]!.push(at);
      for (const element of elements) at = this.#element(element, at, modes);
      this.#jumps[at]!.push(to);
    }
  }

  /** Adds an element after a state; returns the state in which it ends. */
  #element(element: AST.Element, from: number, modes: Modes): number {
    switch (element.type) {
      case 'Group':
      case 'CapturingGroup': {
        const to = this.#state();
        const inner = element.type === 'Group' ? modesOf(element.modifiers, modes) : modes;
        this.#choice(
          element.alternatives.map(({ elements }) => elements),
          from,
          to,
          inner,
        );
        return to;
      }
      case 'Quantifier':
        return this.#quantifier(element, from, modes);
      case 'Assertion':
        return this.#assertion(element, from);
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass': {
        const set = charactersOf(element, modes, this.#budget);
        if (!set)
          throw new PatternRefusal('a pattern without character classes that match several characters');
        const to = this.#state();
        this.#step(from, set, to);
        return to;
      }
      default:
        throw new PatternRefusal('a pattern without back-references');
    }
  }

  #quantifier({ element, min, max }: AST.Quantifier, from: number, modes: Modes): number {
    let at = from;
    for (let count = 0; count < min; count++) at = this.#element(element, at, modes);
    if (max === Number.POSITIVE_INFINITY) {
      const loop = this.#state();
      this.#jumps[at]!.push(loop);
      this.#jumps[this.#element(element, loop, modes)]!.push(loop);
      return loop;
    }
    const end = this.#state();
    for (let count = min; count < max; count++) {
      this.#jumps[at]!.push(end);
      at = this.#element(element, at, modes);
    }
    this.#jumps[at]!.push(end);
    return end;
  }

  #assertion(element: AST.Assertion, from: number): number {
    if (element.kind === 'lookahead' || element.kind === 'lookbehind') {
      throw new PatternRefusal(
        'a pattern without look-behind, and with look-ahead only at its beginning, after ^',
      );
    }
    const condition = element.kind === 'word' ? (element.negate ? 'inside' : 'boundary') : element.kind;
    const to = this.#state();
    this.#conditions[from]!.push({ condition, to });
    return to;
  }
}

function modesOf(modifiers: AST.Modifiers | null, modes: Modes): Modes {
  if (!modifiers) return modes;
  if (modifiers.add?.multiline) throw new PatternRefusal('a pattern without anchors at line ends');
  const of = (name: 'ignoreCase' | 'dotAll', before: boolean) =>
    modifiers.add?.[name] ? true : modifiers.remove?.[name] ? false : before;
  return { ignoresCase: of('ignoreCase', modes.ignoresCase), dotAll: of('dotAll', modes.dotAll) };
}
