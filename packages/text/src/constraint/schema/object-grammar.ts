// Long because objects are one subject: named properties in order, other properties after them, and their number.
import { choice, type Expression, reference, repeat, sequence, literal as text } from '../grammar.js';
import { ALL_TEXTS, textsOf } from '../language/algebra.js';
import { type Dfa, includes, isEmpty } from '../language/dfa.js';
import { type Lowering, namesOf, spelled } from './lowering.js';
import type { Atom, Literal } from './terms.js';

/** Maximum number of ways to satisfy the rules that some property must exist. */
const MAX_VARIANTS = 64;
/** Maximum number of required open properties, whose names must differ. */
const MOST_DISTINCT = 4;
/** Number of classes of first letters that keep such names apart. */
const LETTER_CLASSES = 6;

/** Names that a schema does not list, and the literals for their values. */
interface Open {
  readonly names: Dfa;
  readonly literals: readonly Literal[];
}

interface Named {
  readonly name: string;
  readonly key: Expression;
  readonly literals: readonly Literal[];
  readonly isRequired: boolean;
}

interface ObjectShape {
  least: number;
  most: number;
  readonly named: readonly Named[];
  readonly open: readonly Open[];
  /** More open properties than required may follow. */
  readonly isOpen: boolean;
  /** Required open properties, which come last. */
  readonly witnesses: readonly Open[];
}

/** The objects that satisfy all atoms. */
export function objectGrammar(atoms: readonly Atom[], lowering: Lowering): Expression {
  const shape = shapeOf(atoms, lowering);
  if (!shape) return choice();
  const variants = withWitnesses(shape, atoms, lowering);
  return choice(...variants.map((variant) => new ObjectWriter(variant, lowering).write()));
}

function shapeOf(atoms: readonly Atom[], lowering: Lowering): ObjectShape | null {
  const { languages, dialect, expander } = lowering;
  const own = new Map<string, Literal[]>();
  const required = new Map<string, string>();
  const absent = new Set<string>();
  const everywhere: Open[] = [];
  const nameLiterals: Literal[] = [];
  let [least, most] = [0, Number.POSITIVE_INFINITY];
  for (const atom of atoms) {
    if (atom.kind === 'property') own.set(atom.name, [...(own.get(atom.name) ?? []), atom.literal]);
    else if (atom.kind === 'required') required.set(atom.name, atom.path);
    else if (atom.kind === 'absent') absent.add(atom.name);
    else if (atom.kind === 'names') nameLiterals.push(atom.literal);
    else if (atom.kind === 'properties')
      everywhere.push({ names: namesOf(atom.where, languages), literals: [atom.literal] });
    else if (atom.kind === 'count') {
      least = Math.max(least, atom.least);
      most = Math.min(most, atom.most);
    } else if (atom.kind === 'unevaluated') {
      let names = ALL_TEXTS;
      for (const told of atoms) {
        if (told.kind === 'evaluated-names' && told.owner === atom.owner)
          names = languages.without(names, namesOf(told.where, languages));
      }
      everywhere.push({ names, literals: [atom.literal] });
    }
  }
  const named: Named[] = [];
  for (const name of dialect.inOrder([...new Set([...own.keys(), ...required.keys()])])) {
    if (absent.has(name)) continue;
    const literals = [
      ...(own.get(name) ?? []),
      ...everywhere.filter(({ names }) => includes(names, name)).flatMap((one) => one.literals),
    ];
    const isRequired = required.has(name);
    const isPossible = expander.isValid(nameLiterals, name) && !literals.some(isNever);
    const key = dialect.key(name);
    if (!key && isPossible) {
      const path = own.get(name)?.[0]?.node.path.replace(/\/[^/]*$/, '') ?? required.get(name) ?? '#';
      lowering.onUnsupported({
        path,
        keyword: name,
        expected: 'names without spaces and characters of the tool call syntax',
      });
    }
    if (isPossible && key) named.push({ name, key, literals, isRequired });
    else if (isRequired) return null;
  }
  const spoken = textsOf([...new Set([...own.keys(), ...required.keys(), ...absent])], languages.budget);
  let rest = languages.without(dialect.keyTexts, spoken);
  if (nameLiterals.length > 0) rest = languages.both(rest, lowering.textsOf(nameLiterals));
  // Properties that are not named are left out unless the schema describes or requires them.
  const isOpen = named.length === 0 || everywhere.length > 0 || least > named.length;
  return { least, most, named, open: openNames(rest, everywhere, lowering), isOpen, witnesses: [] };
}

function isNever({ node, holds }: Literal): boolean {
  return node.schema === !holds;
}

/** Disjoint sets of open names, each with all literals for its values. */
function openNames(rest: Dfa, everywhere: readonly Open[], { languages }: Lowering): Open[] {
  let open: Open[] = isEmpty(rest) ? [] : [{ names: rest, literals: [] }];
  for (const { names, literals } of everywhere) {
    open = open.flatMap((one) => {
      if (names === ALL_TEXTS) return [{ names: one.names, literals: [...one.literals, ...literals] }];
      return [
        { names: languages.both(one.names, names), literals: [...one.literals, ...literals] },
        { names: languages.without(one.names, names), literals: one.literals },
      ].filter((part) => !isEmpty(part.names));
    });
  }
  return open.filter(({ literals }) => !literals.some(isNever));
}

/** Every way to satisfy the rules that a property with one of some names must exist. */
function withWitnesses(shape: ObjectShape, atoms: readonly Atom[], lowering: Lowering): ObjectShape[] {
  const { languages, expander } = lowering;
  let variants = [shape];
  for (const atom of atoms) {
    if (atom.kind !== 'some-property') continue;
    let names = namesOf(atom.where, languages);
    if (atom.name) names = languages.both(names, lowering.textsOf([atom.name]));
    const added = atom.literal ? [atom.literal] : [];
    variants = variants.flatMap((variant) => {
      const found: ObjectShape[] = [];
      for (const [index, one] of variant.named.entries()) {
        if (!includes(names, one.name)) continue;
        if (atom.name && !expander.isValid([atom.name], one.name)) continue;
        const changed = { ...one, literals: [...one.literals, ...added], isRequired: true };
        found.push({ ...variant, named: variant.named.with(index, changed) });
      }
      for (const open of variant.open) {
        const witness = { names: languages.both(open.names, names), literals: [...open.literals, ...added] };
        if (isEmpty(witness.names) || witness.literals.some(isNever)) continue;
        // Readers of JSON keep only the last of two properties with the same name.
        if (variant.witnesses.some((other) => !isEmpty(languages.both(other.names, witness.names)))) continue;
        found.push({ ...variant, witnesses: [...variant.witnesses, witness] });
      }
      return found;
    });
    if (variants.length > MAX_VARIANTS)
      languages.budget.refuse(`at most ${MAX_VARIANTS} ways to have a property`);
  }
  return variants;
}

class ObjectWriter {
  readonly #shape: ObjectShape;
  readonly #lowering: Lowering;
  readonly #known = new Map<string, Expression>();
  readonly #least: number;

  constructor(shape: ObjectShape, lowering: Lowering) {
    this.#shape = shape;
    this.#lowering = lowering;
    const sure = shape.named.filter(({ isRequired }) => isRequired).length + shape.witnesses.length;
    this.#least = shape.least <= sure ? 0 : shape.least;
  }

  write(): Expression {
    const { space } = this.#lowering.dialect;
    const body = this.#mayEnd(0, 0) ? choice(sequence(), this.#some(0, 0)) : this.#some(0, 0);
    return sequence(text('{'), space, body, space, text('}'));
  }

  #once(key: string, make: () => Expression): Expression {
    return reference(() => {
      const known = this.#known.get(key);
      if (known) return known;
      const made = make();
      this.#known.set(key, made);
      return made;
    });
  }

  /** Properties are counted up to this number; beyond it, the count no longer matters. */
  #counted(count: number): number {
    const last = this.#shape.most < Number.POSITIVE_INFINITY ? this.#shape.most : Math.max(this.#least, 1);
    return Math.min(count, last);
  }

  get #comma(): Expression {
    return sequence(text(','), this.#lowering.dialect.space);
  }

  /** True if nothing has to follow the first `index` named properties. */
  #mayEnd(index: number, count: number): boolean {
    const { named, witnesses } = this.#shape;
    return (
      count >= this.#least &&
      witnesses.length === 0 &&
      !named.slice(index).some(({ isRequired }) => isRequired)
    );
  }

  /** What may follow once the first `index` named properties are decided and `count` properties are written. */
  #after(index: number, count: number): Expression {
    return this.#once(`after/${index}/${count}`, () => {
      const more = sequence(this.#comma, this.#some(index, count));
      return this.#mayEnd(index, count) ? choice(sequence(), more) : more;
    });
  }

  /** At least one property; named ones from an index on. */
  #some(index: number, count: number): Expression {
    return this.#once(`some/${index}/${count}`, () => {
      const property = this.#shape.named[index];
      if (!property) return this.#others(count);
      const options: Expression[] = [];
      if (count < this.#shape.most) {
        const value = this.#lowering.rule(property.literals);
        options.push(sequence(property.key, value, this.#after(index + 1, this.#counted(count + 1))));
      }
      if (!property.isRequired) options.push(this.#some(index + 1, count));
      return choice(...options);
    });
  }

  /** At least one property: open ones, then those that come last. */
  #others(count: number): Expression {
    const { witnesses, most } = this.#shape;
    const open = this.#shape.isOpen ? this.#shape.open : [];
    const least = Math.max(0, this.#least - count - witnesses.length);
    const left = most - count - witnesses.length;
    if (left < 0 || least > left) return choice();
    const last = witnesses.flatMap((one, index) => [
      ...(index > 0 ? [this.#comma] : []),
      this.#member([one]),
    ]);
    const options: Expression[] = least === 0 && last.length > 0 ? [sequence(...last)] : [];
    if (open.length > 0 && left > 0) {
      const end = last.length > 0 ? [this.#comma, ...last] : [];
      // Only a single required open property is sure to differ in its name; several must be kept apart.
      const isSure = least === 0 || (least === 1 && last.length === 0);
      const more = repeat(sequence(this.#comma, this.#member(open)), 0, left - 1);
      options.push(isSure ? sequence(this.#member(open), more, ...end) : this.#distinct(count, least, 0, 0));
    }
    return choice(...options);
  }

  /** Open properties with first letters of `wanted` different classes. */
  #distinct(count: number, wanted: number, classes: number, before: number): Expression {
    const { open, most, witnesses } = this.#shape;
    const { languages, document, onUnsupported } = this.#lowering;
    if (wanted > MOST_DISTINCT || witnesses.length > 0) {
      const expected = `at most ${MOST_DISTINCT} required properties beyond those with names`;
      onUnsupported({ path: document.root.path, keyword: 'minProperties', expected });
      return choice();
    }
    const have = classes.toString(2).replaceAll('0', '').length;
    if (have >= wanted) return repeat(sequence(this.#comma, this.#member(open)), 0, most - count - before);
    if (count + before >= most) return choice();
    const options: Expression[] = [];
    for (let letter = 0; letter < LETTER_CLASSES; letter++) {
      if ((classes >> letter) & 1) continue;
      const member = this.#once(`letter/${letter}`, () => {
        const apart = open.map(({ names, literals }) => ({
          names: languages.both(names, FIRST_LETTERS[letter]!),
          literals,
        }));
        return this.#member(apart.filter(({ names }) => !isEmpty(names)));
      });
      const now = classes | (1 << letter);
      const next = most === Number.POSITIVE_INFINITY ? 1 : before + 1;
      const rest = this.#once(`distinct/${count}/${wanted}/${now}/${next}`, () =>
        this.#distinct(count, wanted, now, next),
      );
      options.push(sequence(...(before > 0 ? [this.#comma] : []), member, rest));
    }
    return choice(...options);
  }

  #member(open: readonly Open[]): Expression {
    const { dialect } = this.#lowering;
    return choice(
      ...open.map(({ names, literals }) =>
        sequence(dialect.keyed(spelled(names, dialect)), dialect.space, this.#lowering.rule(literals)),
      ),
    );
  }
}

/** Texts by the class of their first letter; the empty text and texts that do not begin with ASCII are in the first. */
const FIRST_LETTERS: readonly Dfa[] = Array.from({ length: LETTER_CLASSES }, (_, letter) => {
  const highs = Array.from({ length: 129 }, (__, index) => (index < 128 ? index : 0x10ffff));
  const targets = highs.map((_high, code) =>
    code === 128 ? (letter === 0 ? 1 : -1) : code % LETTER_CLASSES === letter ? 1 : -1,
  );
  return {
    start: 0,
    isEnd: Uint8Array.of(letter === 0 ? 1 : 0, 1),
    first: Int32Array.of(0, 129, 130),
    highs: Int32Array.of(...highs, 0x10ffff),
    targets: Int32Array.of(...targets, 1),
  };
});
