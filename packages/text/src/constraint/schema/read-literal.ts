// Long because it says for every keyword what it requires, and what its negation requires.
import type { SchemaDocument, SchemaNode } from './document.js';
import { type Keywords, kindOf, type ValueKind } from './json-schema.js';
import type { Atom, Literal, NameSet, Parts } from './terms.js';
import { literalKey } from './terms.js';
import { itemKeywords, typesOf } from './value-check.js';

const NOTHING: Parts = { literals: [], atoms: [], choices: [] };
const INFINITE = Number.POSITIVE_INFINITY;
/** What is supported in place of some keywords where a schema must not hold. */
const NOT_NEGATED = 'no negation of this keyword, as by not, oneOf or if';
/** Up to this many options, the combinations of an `anyOf` are tried too: together they evaluate more. */
const MOST_TOGETHER = 4;
/** Ranges of number formats. */
const NUMBER_FORMATS: Readonly<Record<string, readonly [number, number]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32_768, 32_767],
  uint16: [0, 65_535],
  int32: [-2_147_483_648, 2_147_483_647],
  uint32: [0, 4_294_967_295],
  int64: [-(2 ** 63), 2 ** 63 - 1024],
  uint64: [0, 2 ** 64 - 2048],
};

/** Reads what schemas say about values of one kind. */
export class LiteralReader {
  readonly #document: SchemaDocument;
  readonly #described = new WeakMap<object, Keywords>();
  readonly #areApart: (a: SchemaNode, b: SchemaNode) => boolean;
  readonly #refuse: (node: SchemaNode, keyword: string, expected: string) => void;

  /**
   * @param areApart true if it is known that no value is valid for both
   * @param refuse called for unsupported keywords
   */
  constructor(
    document: SchemaDocument,
    areApart: (a: SchemaNode, b: SchemaNode) => boolean,
    refuse: (node: SchemaNode, keyword: string, expected: string) => void,
  ) {
    this.#document = document;
    this.#areApart = areApart;
    this.#refuse = refuse;
  }

  /** What a literal requires of values of a kind. Null if none of them satisfies it. */
  read(literal: Literal, kind: ValueKind): Parts | null {
    const { node, holds } = literal;
    if (typeof node.schema === 'boolean') return node.schema === holds ? NOTHING : null;
    const schema = this.#document.keywordsOf(node);
    const types = typesOf(schema);
    const isKind = !types || types.includes(kind) || (kind === 'number' && types.includes('integer'));
    if (!isKind) return holds ? null : NOTHING;
    const isInteger = kind === 'number' && types !== null && !types.includes('number');
    return holds
      ? this.#asked(literal, schema, kind, isInteger)
      : this.#denied(literal, schema, kind, isInteger);
  }

  #asked(literal: Literal, schema: Keywords, kind: ValueKind, isInteger: boolean): Parts | null {
    const { node } = literal;
    const owner = literalKey(literal);
    const isOwner =
      (kind === 'object' && schema.unevaluatedProperties !== undefined) ||
      (kind === 'array' && schema.unevaluatedItems !== undefined);
    const owners = isOwner ? [...literal.owners, owner] : literal.owners;
    const here = (...steps: (string | number)[]): Literal => ({
      node: this.#document.child(node, ...steps),
      holds: true,
      owners,
    });
    const atoms: Atom[] = [];
    const literals: Literal[] = [];
    const choices: Parts[][] = [];
    const target = this.#document.targetOf(node);
    if (target) literals.push({ node: target, holds: true, owners });
    for (const index of indices(schema.allOf)) literals.push(here('allOf', index));
    if (schema.anyOf) choices.push(this.#anyOf(here, indices(schema.anyOf), owners.length > 0));
    if (schema.oneOf) choices.push(this.#oneOf(here, indices(schema.oneOf)));
    if (schema.not !== undefined)
      literals.push({ node: this.#document.child(node, 'not'), holds: false, owners: [] });
    if (
      schema.if !== undefined &&
      (schema.then !== undefined || schema.else !== undefined || owners.length > 0)
    ) {
      const otherwise: Literal = { ...here('if'), holds: false, owners: [] };
      choices.push([
        parts({ literals: [here('if'), ...(schema.then === undefined ? [] : [here('then')])] }),
        parts({ literals: [otherwise, ...(schema.else === undefined ? [] : [here('else')])] }),
      ]);
    }
    for (const { name, absent, present } of this.#dependencies(node, schema, kind)) {
      const there: Atom = { kind: 'required', name, path: node.path };
      choices.push([
        parts({ atoms: [absent] }),
        parts({
          atoms: [there, ...present.atoms],
          literals: present.nodes.map((dependent) => ({ node: dependent, holds: true, owners })),
        }),
      ]);
    }
    if (isInteger) atoms.push({ kind: 'number', rule: { kind: 'integer', holds: true }, path: node.path });
    for (const values of [
      schema.enum as unknown[] | undefined,
      'const' in schema ? [schema.const] : undefined,
    ]) {
      if (!values) continue;
      const own = values.filter((value) => kindOf(value) === kind);
      if (own.length === 0) return null;
      atoms.push({ kind: 'values', values: own, holds: true });
    }
    atoms.push(...this.#ownAtoms(node, schema, kind));
    if (kind === 'object') atoms.push(...this.#evaluatedNames(node, schema, owners, owner));
    if (kind === 'array') atoms.push(...this.#evaluatedItems(node, schema, owners, owner));
    return { atoms, literals, choices };
  }

  #anyOf(
    here: (...steps: (string | number)[]) => Literal,
    options: readonly number[],
    areTogether: boolean,
  ): Parts[] {
    const sets =
      areTogether && options.length <= MOST_TOGETHER ? subsetsOf(options) : options.map((index) => [index]);
    return sets.map((set) => parts({ literals: set.map((index) => here('anyOf', index)) }));
  }

  #oneOf(here: (...steps: (string | number)[]) => Literal, options: readonly number[]): Parts[] {
    return options.map((index) => {
      const own = here('oneOf', index);
      const others = options
        .filter((other) => other !== index)
        .map((other) => ({ ...here('oneOf', other), holds: false, owners: [] }))
        .filter((other) => !this.#areApart(own.node, other.node));
      return parts({ literals: [own, ...others] });
    });
  }

  /** What the presence of a property requires. */
  #dependencies(node: SchemaNode, schema: Keywords, kind: ValueKind) {
    const found: { name: string; absent: Atom; present: { atoms: Atom[]; nodes: SchemaNode[] } }[] = [];
    if (kind !== 'object') return found;
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      for (const [name, wanted] of Object.entries((schema[keyword] ?? {}) as Record<string, unknown>)) {
        const atoms = Array.isArray(wanted)
          ? wanted.map((other: string): Atom => ({ kind: 'required', name: other, path: node.path }))
          : [];
        const nodes = Array.isArray(wanted) ? [] : [this.#document.child(node, keyword, name)];
        found.push({ name, absent: { kind: 'absent', name }, present: { atoms, nodes } });
      }
    }
    return found;
  }

  #ownAtoms(node: SchemaNode, schema: Keywords, kind: ValueKind): Atom[] {
    switch (kind) {
      case 'number':
        return this.#numberAtoms(node, schema);
      case 'string':
        return this.#stringAtoms(node, schema);
      case 'array':
        return this.#arrayAtoms(node, schema);
      case 'object':
        return this.#objectAtoms(node, schema);
      default:
        return [];
    }
  }

  #numberAtoms(node: SchemaNode, schema: Keywords): Atom[] {
    const atoms: Atom[] = [];
    const { path } = node;
    for (const [keyword, allows] of ORDERS) {
      const bound = schema[keyword] as number | undefined;
      if (bound !== undefined)
        atoms.push({ kind: 'number', rule: { kind: 'order', bound, allows }, path: `${path}/${keyword}` });
    }
    if (schema.multipleOf !== undefined) {
      atoms.push({
        kind: 'number',
        rule: { kind: 'multiple', of: schema.multipleOf as number, holds: true },
        path,
      });
    }
    const range = typeof schema.format === 'string' ? NUMBER_FORMATS[schema.format] : undefined;
    if (range) {
      const [low, high] = range;
      atoms.push(
        { kind: 'number', rule: { kind: 'integer', holds: true }, path },
        { kind: 'number', rule: { kind: 'order', bound: low, allows: ['equal', 'above'] }, path },
        { kind: 'number', rule: { kind: 'order', bound: high, allows: ['equal', 'below'] }, path },
      );
    }
    return atoms;
  }

  #stringAtoms(node: SchemaNode, schema: Keywords): Atom[] {
    const { path } = node;
    const atoms: Atom[] = countAtoms(schema, 'minLength', 'maxLength', path);
    if (typeof schema.pattern === 'string')
      atoms.push({ kind: 'pattern', pattern: schema.pattern, holds: true, path });
    if (typeof schema.format === 'string' && !isNumberFormat(schema.format)) {
      atoms.push({ kind: 'format', format: schema.format, path });
    }
    return atoms;
  }

  #arrayAtoms(node: SchemaNode, schema: Keywords): Atom[] {
    const { path } = node;
    const atoms: Atom[] = countAtoms(schema, 'minItems', 'maxItems', path);
    const inside = (...steps: (string | number)[]): Literal => ({
      node: this.#document.child(node, ...steps),
      holds: true,
      owners: [],
    });
    const { first, rest } = itemKeywords(schema);
    const listed = first ? indices(schema[first]) : [];
    for (const index of listed) atoms.push({ kind: 'item', index, literal: inside(first!, index) });
    if (rest) atoms.push({ kind: 'items', from: listed.length, literal: inside(rest) });
    if (schema.contains !== undefined) {
      const least = Math.ceil((schema.minContains as number | undefined) ?? 1);
      const most = Math.floor((schema.maxContains as number | undefined) ?? INFINITE);
      if (least > 0 || most < INFINITE)
        atoms.push({ kind: 'contains', from: 0, literal: inside('contains'), least, most });
    }
    if (schema.uniqueItems === true) atoms.push({ kind: 'unique', path });
    return atoms;
  }

  #objectAtoms(node: SchemaNode, schema: Keywords): Atom[] {
    const { path } = node;
    const atoms: Atom[] = countAtoms(schema, 'minProperties', 'maxProperties', path);
    const inside = (...steps: (string | number)[]): Literal => ({
      node: this.#document.child(node, ...steps),
      holds: true,
      owners: [],
    });
    for (const name of Object.keys((schema.properties ?? {}) as object)) {
      atoms.push({ kind: 'property', name, literal: inside('properties', name) });
    }
    for (const pattern of Object.keys((schema.patternProperties ?? {}) as object)) {
      const where: NameSet = { names: [], patterns: [pattern], isIn: true, path };
      atoms.push({ kind: 'properties', where, literal: inside('patternProperties', pattern) });
    }
    if (schema.additionalProperties !== undefined) {
      atoms.push({
        kind: 'properties',
        where: additionalNames(node, schema),
        literal: inside('additionalProperties'),
      });
    }
    for (const name of (schema.required ?? []) as string[]) atoms.push({ kind: 'required', name, path });
    if (schema.propertyNames !== undefined) atoms.push({ kind: 'names', literal: inside('propertyNames') });
    return atoms;
  }

  #evaluatedNames(node: SchemaNode, schema: Keywords, owners: readonly string[], owner: string): Atom[] {
    const atoms: Atom[] = [];
    const { path } = node;
    const isOwner = schema.unevaluatedProperties !== undefined;
    for (const told of owners) {
      const areAll = schema.additionalProperties !== undefined || (isOwner && told !== owner);
      const where = areAll
        ? { names: [], patterns: [], isIn: false, path }
        : { ...additionalNames(node, schema), isIn: true };
      if (areAll || where.names.length + where.patterns.length > 0)
        atoms.push({ kind: 'evaluated-names', owner: told, where });
    }
    if (isOwner) {
      const literal: Literal = {
        node: this.#document.child(node, 'unevaluatedProperties'),
        holds: true,
        owners: [],
      };
      atoms.push({ kind: 'unevaluated', owner, literal });
    }
    return atoms;
  }

  #evaluatedItems(node: SchemaNode, schema: Keywords, owners: readonly string[], owner: string): Atom[] {
    const atoms: Atom[] = [];
    const isOwner = schema.unevaluatedItems !== undefined;
    const { first, rest } = itemKeywords(schema);
    for (const told of owners) {
      const before =
        rest || (isOwner && told !== owner) ? INFINITE : first ? (schema[first] as unknown[]).length : 0;
      if (before > 0) atoms.push({ kind: 'evaluated-items', owner: told, before });
      if (schema.contains !== undefined) {
        atoms.push({
          kind: 'evaluated-containing',
          owner: told,
          node: this.#document.child(node, 'contains'),
        });
      }
    }
    if (isOwner) {
      const literal: Literal = {
        node: this.#document.child(node, 'unevaluatedItems'),
        holds: true,
        owners: [],
      };
      atoms.push({ kind: 'unevaluated', owner, literal });
    }
    return atoms;
  }

  /** A schema does not hold if one of its keywords does not. */
  #denied({ node }: Literal, schema: Keywords, kind: ValueKind, isInteger: boolean): Parts {
    const options: Parts[] = [];
    const inside = (holds: boolean, ...steps: (string | number)[]): Literal => ({
      node: this.#document.child(node, ...steps),
      holds,
      owners: [],
    });
    const target = this.#document.targetOf(node);
    if (target) options.push(parts({ literals: [{ node: target, holds: false, owners: [] }] }));
    for (const index of indices(schema.allOf))
      options.push(parts({ literals: [inside(false, 'allOf', index)] }));
    if (schema.anyOf)
      options.push(parts({ literals: indices(schema.anyOf).map((index) => inside(false, 'anyOf', index)) }));
    if (schema.oneOf)
      options.push(...this.#notOne(indices(schema.oneOf), (holds, index) => inside(holds, 'oneOf', index)));
    if (schema.not !== undefined) options.push(parts({ literals: [inside(true, 'not')] }));
    if (schema.if !== undefined && schema.then !== undefined) {
      options.push(parts({ literals: [inside(true, 'if'), inside(false, 'then')] }));
    }
    if (schema.if !== undefined && schema.else !== undefined) {
      options.push(parts({ literals: [inside(false, 'if'), inside(false, 'else')] }));
    }
    for (const { name, present } of this.#dependencies(node, schema, kind)) {
      const there: Atom = { kind: 'required', name, path: node.path };
      for (const atom of present.atoms)
        options.push(...deny(atom).map((denied) => parts({ atoms: [there, ...denied] })));
      for (const dependent of present.nodes) {
        options.push(parts({ atoms: [there], literals: [{ node: dependent, holds: false, owners: [] }] }));
      }
    }
    if (isInteger)
      options.push(
        parts({ atoms: [{ kind: 'number', rule: { kind: 'integer', holds: false }, path: node.path }] }),
      );
    for (const values of [
      schema.enum as unknown[] | undefined,
      'const' in schema ? [schema.const] : undefined,
    ]) {
      if (!values) continue;
      const own = values.filter((value) => kindOf(value) === kind);
      if (own.length === 0) options.push(NOTHING);
      else if (kind === 'array' || kind === 'object')
        options.push(parts({ literals: own.map((value) => this.#isNot(node, value)) }));
      else options.push(parts({ atoms: [{ kind: 'values', values: own, holds: false }] }));
    }
    if (schema.unevaluatedProperties !== undefined) this.#refuse(node, 'unevaluatedProperties', NOT_NEGATED);
    if (schema.unevaluatedItems !== undefined) this.#refuse(node, 'unevaluatedItems', NOT_NEGATED);
    for (const atom of this.#ownAtoms(node, schema, kind)) {
      if (atom.kind === 'format') this.#refuse(node, 'format', NOT_NEGATED);
      else if (atom.kind === 'unique') this.#refuse(node, 'uniqueItems', NOT_NEGATED);
      else options.push(...deny(atom).map((denied) => parts({ atoms: denied })));
    }
    return { ...NOTHING, choices: [options] };
  }

  /** Everything but one array or object, as the negation of a schema that describes it. */
  #isNot(like: SchemaNode, value: unknown): Literal {
    let schema = this.#described.get(value as object);
    if (!schema && Array.isArray(value)) {
      schema = {
        type: 'array',
        prefixItems: value.map((item) => ({ const: item })),
        items: false,
        minItems: value.length,
      };
    } else if (!schema) {
      const fields = Object.entries(value as object).map(([name, field]) => [name, { const: field }]);
      const properties = Object.fromEntries(fields);
      schema = { type: 'object', properties, required: Object.keys(properties), additionalProperties: false };
    }
    this.#described.set(value as object, schema);
    return { node: this.#document.made(schema, like), holds: false, owners: [] };
  }

  /** None of the options, or two of them. */
  #notOne(indexes: readonly number[], option: (holds: boolean, index: number) => Literal): Parts[] {
    const pairs = indexes.flatMap((a) =>
      indexes
        .filter((b) => b > a && !this.#areApart(option(true, a).node, option(true, b).node))
        .map((b) => parts({ literals: [option(true, a), option(true, b)] })),
    );
    return [parts({ literals: indexes.map((index) => option(false, index)) }), ...pairs];
  }
}

const ORDERS = [
  ['minimum', ['equal', 'above']],
  ['maximum', ['below', 'equal']],
  ['exclusiveMinimum', ['above']],
  ['exclusiveMaximum', ['below']],
] as const;

function parts({ literals = [], atoms = [] }: Partial<Parts>): Parts {
  return { literals, atoms, choices: [] };
}

/** Every way in which an atom does not hold, as atoms. */
function deny(atom: Atom): Atom[][] {
  switch (atom.kind) {
    case 'number': {
      const { rule } = atom;
      if (rule.kind !== 'order') return [[{ ...atom, rule: { ...rule, holds: !rule.holds } }]];
      const others = (['below', 'equal', 'above'] as const).filter((order) => !rule.allows.includes(order));
      return [[{ ...atom, rule: { ...rule, allows: others } }]];
    }
    case 'pattern':
      return [[{ ...atom, holds: !atom.holds }]];
    case 'count': {
      const fewer: Atom[] = [{ ...atom, least: 0, most: atom.least - 1 }];
      const more: Atom[] = [{ ...atom, least: atom.most + 1, most: INFINITE }];
      return [...(atom.least > 0 ? [fewer] : []), ...(atom.most < INFINITE ? [more] : [])];
    }
    case 'item':
      return [
        [atLeast(atom.index + 1, atom.literal.node.path), { ...atom, literal: opposite(atom.literal) }],
      ];
    case 'items':
      return [
        [{ kind: 'contains', from: atom.from, literal: opposite(atom.literal), least: 1, most: INFINITE }],
      ];
    case 'contains': {
      const fewer: Atom[] = [{ ...atom, least: 0, most: atom.least - 1 }];
      const more: Atom[] = [{ ...atom, least: atom.most + 1, most: INFINITE }];
      return [...(atom.least > 0 ? [fewer] : []), ...(atom.most < INFINITE ? [more] : [])];
    }
    case 'property':
      return [
        [
          { kind: 'required', name: atom.name, path: atom.literal.node.path },
          { ...atom, literal: opposite(atom.literal) },
        ],
      ];
    case 'properties':
      return [[{ kind: 'some-property', where: atom.where, literal: opposite(atom.literal), name: null }]];
    case 'required':
      return [[{ kind: 'absent', name: atom.name }]];
    case 'names':
      return [[{ kind: 'some-property', where: ALL_NAMES, literal: null, name: opposite(atom.literal) }]];
    default:
      return [];
  }
}

const ALL_NAMES: NameSet = { names: [], patterns: [], isIn: false, path: '' };

function opposite(literal: Literal): Literal {
  return { ...literal, holds: !literal.holds };
}

function atLeast(least: number, path: string): Atom {
  return { kind: 'count', least, most: INFINITE, path };
}

function countAtoms(schema: Keywords, leastName: string, mostName: string, path: string): Atom[] {
  const least = Math.ceil((schema[leastName] as number | undefined) ?? 0);
  const most = Math.floor((schema[mostName] as number | undefined) ?? INFINITE);
  if (least === 0 && most === INFINITE) return [];
  return [{ kind: 'count', least, most, path: `${path}/${most === INFINITE ? leastName : mostName}` }];
}

function additionalNames({ path }: SchemaNode, schema: Keywords): NameSet {
  return {
    names: Object.keys((schema.properties ?? {}) as object),
    patterns: Object.keys((schema.patternProperties ?? {}) as object),
    isIn: false,
    path,
  };
}

function indices(list: unknown): number[] {
  return Array.isArray(list) ? [...list.keys()] : [];
}

/** All subsets but the empty one. */
function subsetsOf(members: readonly number[]): number[][] {
  let sets: number[][] = [[]];
  for (const member of members) sets = sets.flatMap((set) => [set, [...set, member]]);
  return sets.filter((set) => set.length > 0);
}

function isNumberFormat(format: string): boolean {
  return Object.hasOwn(NUMBER_FORMATS, format) || ['float', 'double', 'decimal'].includes(format);
}
