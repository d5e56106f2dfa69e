import type { Dialect } from '../dialect.js';
import {
  choice,
  type Expression,
  FIRST_CONTROL,
  machine,
  reference,
  sequence,
  literal as text,
} from '../grammar.js';
import { GrammarBudget } from '../grammar-budget.js';
import { combine, textsOf } from '../language/algebra.js';
import type { Dfa } from '../language/dfa.js';
import { ListMachine } from '../language/list-machine.js';
import { anyInteger, anyNumber, type NumberRule, numbersOf } from '../language/numbers.js';
import { TextMachine } from '../language/text-machine.js';
import { spellingOf } from '../machine-data.js';
import { arrayGrammar } from './array-grammar.js';
import { SchemaDocument } from './document.js';
import { Expander } from './expand.js';
import { type JsonSchema, VALUE_KINDS, type ValueKind } from './json-schema.js';
import { Languages } from './languages.js';
import { type Lowering, spelled } from './lowering.js';
import { objectGrammar } from './object-grammar.js';
import { type OnUnsupported, refuseUnsupported, withArgument } from './refusals.js';
import { type Atom, type Literal, literalKey } from './terms.js';
import { ValueCheck } from './value-check.js';

/** Options of compiling a schema. */
export interface SchemaOptions {
  /** Counts the cost of the grammar; shared by the grammars of one answer. */
  readonly budget?: GrammarBudget;
  /** Called for unsupported keywords; by default the schema is refused. */
  readonly onUnsupported?: OnUnsupported;
  /** Only objects, whatever else the schema allows. */
  readonly isObject?: boolean;
  /** What the schema was passed as, such as `responseFormat.schema`; errors name it. */
  readonly argument?: string;
}

/**
 * The values of a JSON Schema in a dialect. Every text of the grammar is valid, but some valid values are left out
 * where a grammar cannot cover all of them: named properties come in the order of the schema and before others; numbers
 * with limits have at most 15 digits (integers 16) and no exponent.
 *
 * @throws InvalidArgumentError for malformed schemas, for unsupported keywords (with their path), and at the limits of
 *   the budget
 */
export function schemaGrammar(schema: JsonSchema, dialect: Dialect, options: SchemaOptions = {}): Expression {
  const { isObject = false, argument = null } = options;
  return withArgument(argument, () => new SchemaCompiler(schema, dialect, options).compile(isObject));
}

/** Any JSON object, for answers that must be JSON but have no schema. */
export function anyObjectGrammar(dialect: Dialect): Expression {
  return schemaGrammar({ type: 'object' }, dialect);
}

class SchemaCompiler implements Lowering {
  readonly document: SchemaDocument;
  readonly expander: Expander;
  readonly languages: Languages;
  readonly dialect: Dialect;
  readonly onUnsupported: OnUnsupported;
  readonly #budget: GrammarBudget;
  readonly #argument: string | null;
  readonly #rules = new Map<string, Expression>();

  constructor(schema: JsonSchema, dialect: Dialect, options: SchemaOptions) {
    const { budget = new GrammarBudget(), onUnsupported = refuseUnsupported, argument = null } = options;
    this.#argument = argument;
    this.dialect = dialect;
    this.onUnsupported = onUnsupported;
    this.#budget = budget;
    this.document = new SchemaDocument(schema, onUnsupported);
    this.languages = new Languages(budget, onUnsupported);
    const check = new ValueCheck(this.document, this.languages, onUnsupported);
    this.expander = new Expander(this.document, check, budget, ({ path }, keyword, expected) =>
      onUnsupported({ path, keyword, expected }),
    );
  }

  compile(isObject: boolean): Expression {
    const { root } = this.document;
    const literals: Literal[] = [{ node: root, holds: true, owners: [] }];
    if (isObject)
      literals.push({ node: this.document.made({ type: 'object' }, root), holds: true, owners: [] });
    return this.#compile(literals);
  }

  rule(literals: readonly Literal[]): Expression {
    const held = literals.filter(({ node, holds }) => node.schema !== holds);
    const key = [...new Set(held.map(literalKey))].sort().join();
    return reference(() => {
      const known = this.#rules.get(key);
      if (known) return known;
      // Rules are built when the grammar is, long after `schemaGrammar` returned.
      const made = withArgument(this.#argument, () => this.#compile(held));
      this.#rules.set(key, made);
      return made;
    });
  }

  textsOf(literals: readonly Literal[]): Dfa {
    let found = textsOf([], this.#budget);
    for (const term of this.expander.termsOf(literals, 'string')) {
      const own =
        'values' in term ? textsOf(term.values as string[], this.#budget) : this.#textsOfAtoms(term.atoms);
      found = combine('or', found, own, this.#budget);
    }
    return found;
  }

  valuesOf(literals: readonly Literal[]): readonly unknown[] | null {
    const values: unknown[] = [];
    for (const kind of VALUE_KINDS) {
      for (const term of this.expander.termsOf(literals, kind)) {
        if (!('values' in term)) return null;
        values.push(...term.values);
      }
    }
    return values;
  }

  #compile(literals: readonly Literal[]): Expression {
    this.#budget.path = literals[0]?.node.path ?? '#';
    const constants: unknown[] = [];
    const options: Expression[] = [];
    for (const kind of VALUE_KINDS) {
      for (const term of this.expander.termsOf(literals, kind)) {
        if ('values' in term) constants.push(...term.values);
        else options.push(this.#term(kind, term.atoms));
      }
    }
    return choice(...this.#constants(constants), ...options);
  }

  #term(kind: ValueKind, atoms: readonly Atom[]): Expression {
    switch (kind) {
      case 'number':
        return this.#number(atoms);
      case 'string':
        return this.dialect.quoted(spelled(this.#textsOfAtoms(atoms), this.dialect));
      case 'array':
        return arrayGrammar(atoms, this);
      default:
        return objectGrammar(atoms, this);
    }
  }

  #number(atoms: readonly Atom[]): Expression {
    const rules: NumberRule[] = [];
    for (const atom of atoms) {
      if (atom.kind === 'number') rules.push(atom.rule);
      else if (atom.kind === 'values') {
        for (const value of atom.values)
          rules.push({ kind: 'order', bound: value as number, allows: ['below', 'above'] });
      }
    }
    const key = `number:${JSON.stringify(rules)}`;
    const numbers = this.languages.once(key, () => {
      if (rules.length === 0) return anyNumber(this.#budget);
      if (rules.every((rule) => rule.kind === 'integer' && rule.holds)) return anyInteger(this.#budget);
      const found = numbersOf(rules, this.#budget);
      if (found) return found;
      const path =
        atoms.flatMap((atom) =>
          atom.kind === 'number' && atom.rule.kind === 'multiple' ? [atom.path] : [],
        )[0] ?? '#';
      this.onUnsupported({ path, keyword: 'multipleOf', expected: 'a divisor with at most four digits' });
      return numbersOf(
        rules.filter(({ kind }) => kind !== 'multiple'),
        this.#budget,
      );
    })!;
    return machine(TextMachine.of(numbers, PLAIN));
  }

  #textsOfAtoms(atoms: readonly Atom[]): Dfa {
    const { languages } = this;
    let found = this.dialect.texts;
    let [least, most] = [0, Number.POSITIVE_INFINITY];
    for (const atom of atoms) {
      if (atom.kind === 'count') {
        [least, most] = [Math.max(least, atom.least), Math.min(most, atom.most)];
        this.#budget.path = atom.path;
      } else if (atom.kind === 'pattern') {
        const own = languages.pattern(atom.pattern, atom.path);
        if (own) found = atom.holds ? languages.both(found, own) : languages.without(found, own);
      } else if (atom.kind === 'format') {
        const own = languages.format(atom.format, atom.path);
        if (own) found = languages.both(found, own);
      } else if (atom.kind === 'values') {
        found = languages.without(found, textsOf(atom.values as string[], this.#budget));
      }
    }
    return languages.withLength(found, least, most);
  }

  #constants(values: readonly unknown[]): Expression[] {
    const scalars: Uint32Array[] = [];
    const options: Expression[] = [];
    for (const value of values) {
      if (typeof value === 'object' && value !== null) options.push(this.#constant(value));
      else {
        this.#budget.addSteps(typeof value === 'string' ? value.length : 1);
        const symbols =
          typeof value === 'string'
            ? this.dialect.symbolsOf(value)
            : Uint32Array.from(Buffer.from(JSON.stringify(value)));
        if (symbols) scalars.push(symbols);
        else
          this.onUnsupported({
            path: this.#budget.path,
            keyword: 'enum',
            expected: 'strings that a tool call can spell',
          });
      }
    }
    if (scalars.length > 0) {
      const controls = new Set<number>();
      for (const symbols of scalars)
        for (const symbol of symbols) if (symbol >= FIRST_CONTROL) controls.add(symbol);
      options.unshift(machine(ListMachine.of(scalars, [...controls])));
      this.#budget.addSteps(scalars.length);
    }
    return options;
  }

  #constant(value: unknown): Expression {
    if (typeof value !== 'object' || value === null) return choice(...this.#constants([value]));
    const comma = sequence(text(','), this.dialect.space);
    const separated = (items: readonly Expression[]) =>
      items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]));
    if (Array.isArray(value)) {
      return sequence(text('['), ...separated(value.map((item) => this.#constant(item))), text(']'));
    }
    const fields = value as Record<string, unknown>;
    const members = this.dialect.inOrder(Object.keys(fields)).map((name) => {
      const key = this.dialect.key(name);
      if (!key)
        this.onUnsupported({
          path: this.#budget.path,
          keyword: 'enum',
          expected: 'names that a tool call can spell',
        });
      return sequence(key ?? choice(), this.#constant(fields[name]));
    });
    return sequence(text('{'), ...separated(members), text('}'));
  }
}

/** Numbers are spelled the same in every dialect. */
const PLAIN = spellingOf(false, () => true);
