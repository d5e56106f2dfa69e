import type { GrammarBudget } from '../grammar-budget.js';
import { combine, withLength } from '../language/algebra.js';
import type { Dfa } from '../language/dfa.js';
import { FORMATS, FREE_FORMATS } from '../language/formats.js';
import { PatternRefusal } from '../language/nfa.js';
import { patternLanguage } from '../language/pattern.js';
import type { OnUnsupported } from './refusals.js';

/** Languages of formats, built on first use. */
const formats = new Map<string, Dfa>();

/** The languages of the patterns and formats in a schema, each built once. */
export class Languages {
  readonly budget: GrammarBudget;
  readonly #onUnsupported: OnUnsupported;
  readonly #known = new Map<string, Dfa | null>();

  constructor(budget: GrammarBudget, onUnsupported: OnUnsupported) {
    this.budget = budget;
    this.#onUnsupported = onUnsupported;
  }

  /** The texts in which a pattern finds a match. Null for an unsupported pattern that was left out. */
  pattern(pattern: string, path: string, keyword = 'pattern'): Dfa | null {
    return this.once(`pattern:${pattern}`, () => {
      this.budget.path = `${path}/${keyword}`;
      try {
        return patternLanguage(pattern, this.budget);
      } catch (error) {
        if (!(error instanceof PatternRefusal)) throw error;
        this.#onUnsupported({ path, keyword, expected: error.reason });
        return null;
      }
    });
  }

  /** The texts of a format. Null for a format that allows any text, and for an unsupported one that was left out. */
  format(format: string, path: string): Dfa | null {
    if (FREE_FORMATS.has(format)) return null;
    const pattern = FORMATS.get(format);
    if (pattern !== undefined) {
      let known = formats.get(format);
      if (!known) {
        const { states } = this.budget;
        known = patternLanguage(`^(?:${pattern})$`, this.budget);
        // The states of a format do not count: all schemas share them.
        this.budget.states = states;
        formats.set(format, known);
      }
      return known;
    }
    this.#onUnsupported({
      path,
      keyword: 'format',
      expected: `one of the formats ${[...FORMATS.keys(), ...FREE_FORMATS].join(', ')}`,
    });
    return null;
  }

  /** The result of `make`, which is called once for each key. */
  once(key: string, make: () => Dfa | null): Dfa | null {
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const made = make();
    this.#known.set(key, made);
    return made;
  }

  both(a: Dfa, b: Dfa): Dfa {
    return combine('and', a, b, this.budget);
  }

  without(a: Dfa, b: Dfa): Dfa {
    return combine('without', a, b, this.budget);
  }

  withLength(a: Dfa, least: number, most: number): Dfa {
    return withLength(a, least, most, this.budget);
  }
}
