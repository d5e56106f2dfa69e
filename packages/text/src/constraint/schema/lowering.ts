import type { Dialect } from '../dialect.js';
import { type Expression, machine } from '../grammar.js';
import { ALL_TEXTS, combine, textsOf } from '../language/algebra.js';
import type { Dfa } from '../language/dfa.js';
import { TextMachine } from '../language/text-machine.js';
import type { SchemaDocument } from './document.js';
import type { Expander } from './expand.js';
import type { Languages } from './languages.js';
import type { OnUnsupported } from './refusals.js';
import type { Literal, NameSet } from './terms.js';

/** What is needed to turn terms into grammars. */
export interface Lowering {
  readonly document: SchemaDocument;
  readonly expander: Expander;
  readonly languages: Languages;
  readonly dialect: Dialect;
  readonly onUnsupported: OnUnsupported;
  /** The grammar of the values that satisfy all literals, compiled once. */
  rule(literals: readonly Literal[]): Expression;
  /** The strings that satisfy all literals. */
  textsOf(literals: readonly Literal[]): Dfa;
  /** All values that satisfy the literals, if they can be listed. */
  valuesOf(literals: readonly Literal[]): readonly unknown[] | null;
}

const machines = new WeakMap<Dfa, Expression>();

/** The texts of a language as a dialect spells them, without quotes. */
export function spelled(dfa: Dfa, { spelling }: Dialect): Expression {
  if (spelling.hasEscapes) {
    const known = machines.get(dfa);
    if (known) return known;
    const made = machine(TextMachine.of(dfa, spelling));
    machines.set(dfa, made);
    return made;
  }
  return machine(TextMachine.of(dfa, spelling));
}

/** The names in a set, as a language. */
export function namesOf({ names, patterns, isIn, path }: NameSet, languages: Languages): Dfa {
  const { budget } = languages;
  const key = `names:${JSON.stringify([names, patterns, isIn])}`;
  return languages.once(key, () => {
    let found = textsOf(names, budget);
    for (const pattern of patterns) {
      const matching = languages.pattern(pattern, path, 'patternProperties');
      if (matching) found = combine('or', found, matching, budget);
    }
    return isIn ? found : languages.without(ALL_TEXTS, found);
  })!;
}
