// Long because it is one search: the ways in which a value of one kind can satisfy several schemas at once.
import type { GrammarBudget } from '../grammar-budget.js';
import type { SchemaDocument, SchemaNode } from './document.js';
import { type Keywords, kindOf, VALUE_KINDS, type ValueKind } from './json-schema.js';
import { LiteralReader } from './read-literal.js';
import { type Atom, atomKey, type Literal, literalKey, type Parts, partsKey } from './terms.js';
import { typesOf, type ValueCheck } from './value-check.js';

/** One way to be valid: one of the listed values, or all of the atoms hold. */
export type Term = { readonly values: readonly unknown[] } | { readonly atoms: readonly Atom[] };

/** Maximum number of ways at one place of a schema. */
const MAX_WAYS = 2000;
/** Maximum number of references followed to find out whether two schemas have values in common. */
const MOST_HOPS = 8;

interface Branch {
  readonly todo: Literal[];
  readonly seen: Map<string, Literal>;
  readonly atoms: Map<string, Atom>;
  choices: (readonly Parts[])[];
}

/** Turns several schemas into the ways to be valid for all of them. */
export class Expander {
  readonly #document: SchemaDocument;
  readonly #check: ValueCheck;
  readonly #budget: GrammarBudget;
  readonly #reader: LiteralReader;

  constructor(
    document: SchemaDocument,
    check: ValueCheck,
    budget: GrammarBudget,
    refuse: (node: SchemaNode, keyword: string, expected: string) => void,
  ) {
    this.#document = document;
    this.#check = check;
    this.#budget = budget;
    this.#reader = new LiteralReader(document, (a, b) => this.areApart(a, b), refuse);
  }

  /** True if the value satisfies all literals. */
  isValid(literals: readonly Literal[], value: unknown): boolean {
    return literals.every(({ node, holds }) => this.#check.isValid(node, value) === holds);
  }

  /**
   * The ways in which a value of a kind satisfies all literals. @throws InvalidArgumentError when there are too many
   */
  termsOf(literals: readonly Literal[], kind: ValueKind): Term[] {
    if (kind === 'null' || kind === 'boolean') {
      const values = (kind === 'null' ? [null] : [true, false]).filter((value) =>
        this.isValid(literals, value),
      );
      return values.length > 0 ? [{ values }] : [];
    }
    const terms: Term[] = [];
    const listed = new Map<string, unknown>();
    const known = new Set<string>();
    const open: Branch[] = [{ todo: [...literals], seen: new Map(), atoms: new Map(), choices: [] }];
    for (let branch = open.pop(); branch; branch = open.pop()) {
      this.#budget.addSteps(10);
      if (!this.#settle(branch, kind)) continue;
      const key = partsKey({ literals: [], atoms: [...branch.atoms.values()], choices: branch.choices });
      if (known.has(key)) continue;
      known.add(key);
      if (known.size > MAX_WAYS) this.#budget.refuse(`at most ${MAX_WAYS} ways to be valid`);
      const values = [...branch.atoms.values()].find((atom) => atom.kind === 'values' && atom.holds);
      if (values?.kind === 'values') {
        for (const value of values.values) {
          const text = JSON.stringify(value);
          if (!listed.has(text) && this.isValid(literals, value)) listed.set(text, value);
        }
        continue;
      }
      const [choice, ...others] = branch.choices;
      if (!choice) {
        terms.push({ atoms: [...branch.atoms.values()] });
        continue;
      }
      for (const option of [...choice].reverse()) {
        const next = {
          todo: [],
          seen: new Map(branch.seen),
          atoms: new Map(branch.atoms),
          choices: [...others],
        };
        add(next, option);
        open.push(next);
      }
    }
    if (listed.size > 0) terms.unshift({ values: [...listed.values()] });
    return terms;
  }

  /** Reads all literals of a branch and resolves choices with one option left; false if nothing is valid. */
  #settle(branch: Branch, kind: ValueKind): boolean {
    for (;;) {
      for (let literal = branch.todo.shift(); literal; literal = branch.todo.shift()) {
        const key = literalKey(literal);
        if (branch.seen.has(key)) continue;
        if (branch.seen.has(literalKey({ ...literal, holds: !literal.holds }))) return false;
        branch.seen.set(key, literal);
        const read = this.#reader.read(literal, kind);
        if (!read) return false;
        add(branch, read);
      }
      if (isContradiction(branch)) return false;
      const undecided: (readonly Parts[])[] = [];
      for (const choice of branch.choices) {
        const options = new Map<string, Parts>();
        let isDecided = false;
        for (const option of choice) {
          if (this.#isImplied(branch, option)) isDecided = true;
          else if (!this.#isImpossible(branch, option)) options.set(partsKey(option), option);
        }
        if (isDecided) continue;
        if (options.size === 0) return false;
        if (options.size === 1) add(branch, [...options.values()][0]!);
        else undecided.push([...options.values()]);
      }
      branch.choices = undecided.sort((a, b) => a.length - b.length);
      if (branch.todo.length === 0) return !isContradiction(branch);
    }
  }

  #isImplied(branch: Branch, { literals, atoms, choices }: Parts): boolean {
    if (choices.length > 0 || !literals.every((literal) => branch.seen.has(literalKey(literal))))
      return false;
    return atoms.every((atom) => {
      if (branch.atoms.has(atomKey(atom))) return true;
      const values = atom.kind === 'property' ? this.#valuesOfProperty(branch, atom.name) : null;
      return values?.every((value) => this.isValid([(atom as { literal: Literal }).literal], value)) ?? false;
    });
  }

  #isImpossible(branch: Branch, { literals, atoms }: Parts): boolean {
    if (literals.some((literal) => branch.seen.has(literalKey({ ...literal, holds: !literal.holds }))))
      return true;
    const has = (atom: Atom) => branch.atoms.has(atomKey(atom));
    return atoms.some((atom) => {
      if (atom.kind === 'required') return has({ kind: 'absent', name: atom.name });
      if (atom.kind === 'absent') return has({ kind: 'required', name: atom.name, path: '' });
      if (atom.kind !== 'property') return false;
      const there: Atom = { kind: 'required', name: atom.name, path: '' };
      if (!has(there) && !atoms.some((other) => atomKey(other) === atomKey(there))) return false;
      const values = this.#valuesOfProperty(branch, atom.name);
      return values !== null && !values.some((value) => this.isValid([atom.literal], value));
    });
  }

  /** All values that a property may have, if they can be listed. */
  #valuesOfProperty({ atoms }: Branch, name: string): readonly unknown[] | null {
    for (const atom of atoms.values()) {
      if (atom.kind !== 'property' || atom.name !== name || !atom.literal.holds) continue;
      const values = this.#valuesOf(atom.literal.node);
      if (values) return values;
    }
    return null;
  }

  /** All values of a schema, if it lists them. */
  #valuesOf(start: SchemaNode): readonly unknown[] | null {
    let node: SchemaNode | null = start;
    for (let hops = 0; node && hops < MOST_HOPS; hops++) {
      if (typeof node.schema === 'boolean') return null;
      const schema: Keywords = this.#document.keywordsOf(node);
      if ('const' in schema) return [schema.const];
      if (Array.isArray(schema.enum)) return schema.enum;
      node = this.#document.targetOf(node);
    }
    return null;
  }

  /** True if clearly no value is valid for both: by kind, by listed values, or by those of a required property. */
  areApart(a: SchemaNode, b: SchemaNode): boolean {
    const [left, right] = [this.#plainOf(a), this.#plainOf(b)];
    if (!VALUE_KINDS.some((kind) => left.kinds.has(kind) && right.kinds.has(kind))) return true;
    const values = left.values ?? right.values;
    if (values)
      return !values.some((value) => this.#check.isValid(a, value) && this.#check.isValid(b, value));
    const areObjects = [left, right].some(({ kinds }) => kinds.size === 1 && kinds.has('object'));
    if (!areObjects) return false;
    return [...left.required, ...right.required].some((name) => {
      const [one, other] = [left.properties.get(name), right.properties.get(name)];
      return one !== undefined && other !== undefined && this.#areValuesApart(one, other);
    });
  }

  #areValuesApart(a: SchemaNode, b: SchemaNode): boolean {
    const values = this.#valuesOf(a) ?? this.#valuesOf(b);
    return (
      values !== null &&
      !values.some((value) => this.#check.isValid(a, value) && this.#check.isValid(b, value))
    );
  }

  /** Facts that can be read directly from a schema. */
  #plainOf(start: SchemaNode): {
    kinds: Set<ValueKind>;
    values: readonly unknown[] | null;
    required: Set<string>;
    properties: Map<string, SchemaNode>;
  } {
    let kinds = new Set(VALUE_KINDS);
    const required = new Set<string>();
    const properties = new Map<string, SchemaNode>();
    let node: SchemaNode | null = start;
    for (let hops = 0; node && hops < MOST_HOPS; hops++) {
      const schema: Keywords = this.#document.keywordsOf(node);
      if (typeof node.schema === 'boolean') break;
      const types = typesOf(schema)?.map((type) => (type === 'integer' ? 'number' : type));
      if (types) kinds = new Set([...kinds].filter((kind) => types.includes(kind)));
      for (const name of (schema.required ?? []) as string[]) required.add(name);
      for (const name of Object.keys((schema.properties ?? {}) as object)) {
        if (!properties.has(name)) properties.set(name, this.#document.child(node, 'properties', name));
      }
      node = this.#document.targetOf(node);
    }
    const values = this.#valuesOf(start);
    if (values) kinds = new Set(values.map(kindOf).filter((kind) => kinds.has(kind)));
    return { kinds, values, required, properties };
  }
}

function add(branch: Branch, { literals, atoms, choices }: Parts): void {
  branch.todo.push(...literals);
  for (const atom of atoms) branch.atoms.set(atomKey(atom), atom);
  branch.choices.push(...choices);
}

function isContradiction({ atoms }: Branch): boolean {
  for (const atom of atoms.values()) {
    if (atom.kind === 'absent' && atoms.has(atomKey({ kind: 'required', name: atom.name, path: '' })))
      return true;
  }
  return false;
}
