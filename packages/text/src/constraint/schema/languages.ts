import { GrammarBudget } from '../grammar-budget.js';
import { combine, withLength } from '../language/algebra.js';
import type { Dfa } from '../language/dfa.js';
import { FORMATS, FREE_FORMATS } from '../language/formats.js';
import { PatternRefusal } from '../language/nfa.js';
import { patternLanguage } from '../language/pattern.js';
import type { OnUnsupported } from './refusals.js';

/** Languages of formats, made when they are first asked for. */
const formats = new Map<string, Dfa>();

/** The languages of patterns and formats that a schema names, each made once. */
export class Languages {
  readonly budget: GrammarBudget;
  readonly #onUnsupported: OnUnsupported;
  readonly #known = new Map<string, Dfa | null>();

  constructor(budget: GrammarBudget, onUnsupported: OnUnsupported) {
    this.budget = budget;
    this.#onUnsupported = onUnsupported;
  }

  /** Texts in which a pattern finds a match. Null for one that was left out as unsupported. */
  pattern(pattern: string, path: string, keyword = 'pattern'): Dfa | null {
    return this.once(`pattern:${pattern}`, () => {
      this.budget.path = `${path}/${keyword}`;
      try {
        return patternLanguage(pattern, this.budget);
      } catch (error) {
        if (!(error instanceof PatternRefusal)) throw error;
        this.#onUnsupported({ path, keyword, expected: `a pattern with ${error.reason}` });
        return null;
      }
    });
  }

  /** Texts of a format. Null for one that holds for any text, or was left out as unsupported. */
  format(format: string, path: string): Dfa | null {
    if (FREE_FORMATS.has(format)) return null;
    const pattern = FORMATS.get(format);
    if (pattern !== undefined) {
      let known = formats.get(format);
      if (!known) {
        known = patternLanguage(`^(?:${pattern})$`, new GrammarBudget());
        formats.set(format, known);
      }
      return known;
    }
    this.#onUnsupported({
      path,
      keyword: 'format',
      expected: `a format among ${[...FORMATS.keys(), ...FREE_FORMATS].join(', ')}`,
    });
    return null;
  }

  /** What `make` gives, the first time. */
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
