// Long because arrays are one subject: places of items, what must be among them, and items that differ.
import { choice, type Expression, reference, repeat, sequence, literal as text } from '../grammar.js';
import { isEqual } from './json-schema.js';
import type { Lowering } from './lowering.js';
import type { Atom, Literal } from './terms.js';

/** Up to this many values, items that must differ may come in any order; more come in the order of the schema. */
const MOST_IN_ANY_ORDER = 6;

interface Contains {
  readonly from: number;
  readonly literal: Literal;
  readonly least: number;
  readonly most: number;
}

/** What atoms require of an array. */
interface ArrayShape {
  least: number;
  most: number;
  readonly items: { readonly index: number; readonly literal: Literal }[];
  readonly rest: { readonly from: number; readonly literal: Literal }[];
  readonly contains: Contains[];
  uniqueAt: string | null;
}

/** The arrays for which all atoms hold. */
export function arrayGrammar(atoms: readonly Atom[], lowering: Lowering): Expression {
  const shape = shapeOf(atoms, lowering);
  if (shape.least > shape.most) return choice();
  return new ArrayWriter(shape, lowering).write();
}

function shapeOf(atoms: readonly Atom[], { document }: Lowering): ArrayShape {
  const shape: ArrayShape = {
    least: 0,
    most: Number.POSITIVE_INFINITY,
    items: [],
    rest: [],
    contains: [],
    uniqueAt: null,
  };
  for (const atom of atoms) {
    if (atom.kind === 'count') {
      shape.least = Math.max(shape.least, atom.least);
      shape.most = Math.min(shape.most, atom.most);
    } else if (atom.kind === 'item') shape.items.push(atom);
    else if (atom.kind === 'items') shape.rest.push(atom);
    else if (atom.kind === 'contains') shape.contains.push(atom);
    else if (atom.kind === 'unique') shape.uniqueAt = atom.path;
    else if (atom.kind === 'unevaluated') {
      let from = 0;
      const others: Literal['node'][] = [];
      for (const told of atoms) {
        if (told.kind === 'evaluated-items' && told.owner === atom.owner) from = Math.max(from, told.before);
        if (told.kind === 'evaluated-containing' && told.owner === atom.owner) others.push(told.node);
      }
      const { node } = atom.literal;
      const schema = { anyOf: [node, ...others].map((other) => other.schema) };
      const either = others.length === 0 ? node : document.made(schema, node);
      if (from < Number.POSITIVE_INFINITY)
        shape.rest.push({ from, literal: { node: either, holds: true, owners: [] } });
    }
  }
  return shape;
}

class ArrayWriter {
  readonly #shape: ArrayShape;
  readonly #lowering: Lowering;
  readonly #known = new Map<string, Expression>();
  /** From this index on, the place of an item does not matter. */
  readonly #fixed: number;

  constructor(shape: ArrayShape, lowering: Lowering) {
    this.#shape = shape;
    this.#lowering = lowering;
    const { items, rest, contains } = shape;
    this.#fixed = Math.max(
      0,
      ...items.map(({ index }) => index + 1),
      ...[...rest, ...contains].map(({ from }) => from),
    );
  }

  write(): Expression {
    const { dialect } = this.#lowering;
    const { contains, uniqueAt, most } = this.#shape;
    let body: Expression;
    if (uniqueAt !== null && most > 1) body = this.#unique(uniqueAt);
    else if (contains.length > 0)
      body = this.#containing(
        0,
        contains.map(() => 0),
      );
    else body = this.#from(0);
    return sequence(text('['), dialect.space, body, dialect.space, text(']'));
  }

  #literalsAt(index: number): Literal[] {
    const { items, rest } = this.#shape;
    return [
      ...items.filter((item) => item.index === index).map(({ literal }) => literal),
      ...rest.filter(({ from }) => from <= index).map(({ literal }) => literal),
    ];
  }

  /** An item, after a comma unless it is the first. */
  #item(index: number, literals: readonly Literal[]): Expression {
    const item = this.#lowering.rule(literals);
    return index === 0 ? item : sequence(text(','), this.#lowering.dialect.space, item);
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

  /** The items from an index on. */
  #from(index: number): Expression {
    const { least, most } = this.#shape;
    if (index >= most) return sequence();
    if (index < this.#fixed || index === 0) {
      const literals = this.#literalsAt(index);
      const more = sequence(
        this.#item(index, literals),
        this.#once(`${index + 1}`, () => this.#from(index + 1)),
      );
      return index < least ? more : choice(sequence(), more);
    }
    return repeat(this.#item(index, this.#literalsAt(index)), Math.max(0, least - index), most - index);
  }

  /** The items from an index on, given the matches counted so far for each `contains`. */
  #containing(index: number, counts: readonly number[]): Expression {
    const { contains, least, most } = this.#shape;
    const isDone = index >= least && contains.every((one, at) => counts[at]! >= one.least);
    const options: Expression[] = isDone ? [sequence()] : [];
    if (index >= most) return choice(...options);
    const last = most === Number.POSITIVE_INFINITY ? Math.max(this.#fixed, least, 1) : most;
    const next = Math.min(index + 1, last);
    for (let counted = 0; counted < 1 << contains.length; counted++) {
      const literals = this.#literalsAt(index);
      const after = [...counts];
      const isPossible = contains.every((one, at) => {
        const limit = one.most === Number.POSITIVE_INFINITY ? one.least : one.most;
        if ((counted >> at) & 1) {
          if (index < one.from || after[at]! >= limit) return false;
          after[at]!++;
          literals.push(one.literal);
        } else if (one.most < Number.POSITIVE_INFINITY && index >= one.from) {
          literals.push({ ...one.literal, holds: !one.literal.holds });
        }
        return true;
      });
      if (!isPossible) continue;
      const rest = this.#once(`${next}/${after}`, () => this.#containing(next, after));
      options.push(sequence(this.#item(index, literals), rest));
    }
    return choice(...options);
  }

  /** Items that all differ, if their values can be listed. */
  #unique(path: string): Expression {
    const { contains, most } = this.#shape;
    const values = this.#allValues();
    if (!values || contains.length > 0) {
      this.#lowering.onUnsupported({
        path,
        keyword: 'uniqueItems',
        expected: 'items with listed values, for example by enum',
      });
      return contains.length > 0
        ? this.#containing(
            0,
            contains.map(() => 0),
          )
        : this.#from(0);
    }
    const isOrdered = values.length > MOST_IN_ANY_ORDER;
    const after = (index: number, used: bigint): Expression => {
      const options: Expression[] = index >= this.#shape.least ? [sequence()] : [];
      if (index < most) {
        const literals = this.#literalsAt(index);
        for (const [at, value] of values.entries()) {
          if ((used >> BigInt(at)) & 1n || !this.#lowering.expander.isValid(literals, value)) continue;
          // In a fixed order, all earlier values count as used.
          const now = isOrdered ? (2n << BigInt(at)) - 1n : used | (1n << BigInt(at));
          const rest = this.#once(`${index + 1}/${now}`, () => after(index + 1, now));
          const item = this.#lowering.rule([...literals, this.#only(value)]);
          options.push(
            sequence(...(index === 0 ? [] : [text(','), this.#lowering.dialect.space]), item, rest),
          );
        }
      }
      return choice(...options);
    };
    return after(0, 0n);
  }

  readonly #constants = new Map<unknown, Literal>();

  #only(value: unknown): Literal {
    let known = this.#constants.get(value);
    if (!known) {
      const { document } = this.#lowering;
      known = { node: document.made({ const: value }, document.root), holds: true, owners: [] };
      this.#constants.set(value, known);
    }
    return known;
  }

  /** All values that any item may have, or null if they cannot be listed. */
  #allValues(): readonly unknown[] | null {
    const all: unknown[] = [];
    const last = Math.min(this.#fixed, this.#shape.most - 1);
    for (let index = 0; index <= last; index++) {
      const values = this.#lowering.valuesOf(this.#literalsAt(index));
      if (!values) return null;
      for (const value of values) if (!all.some((known) => isEqual(known, value))) all.push(value);
    }
    return all;
  }
}
