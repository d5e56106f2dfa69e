import type { NumberRule } from '../language/numbers.js';
import type { SchemaNode } from './document.js';

/** A schema that a value must satisfy, or must not. */
export interface Literal {
  readonly node: SchemaNode;
  readonly holds: boolean;
  /** The `unevaluated…` keywords that take what this schema evaluates into account. */
  readonly owners: readonly string[];
}

/** Property names: those that are listed or match a pattern, or all others. */
export interface NameSet {
  readonly names: readonly string[];
  readonly patterns: readonly string[];
  readonly isIn: boolean;
  readonly path: string;
}

/** One condition on values of a kind, without alternatives. */
export type Atom =
  /** Any kind: one of these values, or none of them. */
  | { readonly kind: 'values'; readonly values: readonly unknown[]; readonly holds: boolean }
  | { readonly kind: 'number'; readonly rule: NumberRule; readonly path: string }
  | { readonly kind: 'pattern'; readonly pattern: string; readonly holds: boolean; readonly path: string }
  | { readonly kind: 'format'; readonly format: string; readonly path: string }
  /** Number of characters of a string, items of an array, or properties of an object. */
  | { readonly kind: 'count'; readonly least: number; readonly most: number; readonly path: string }
  /** The item at an index, if it exists; all items from an index on. */
  | { readonly kind: 'item'; readonly index: number; readonly literal: Literal }
  | { readonly kind: 'items'; readonly from: number; readonly literal: Literal }
  /** From an index on, `least` to `most` items satisfy a schema. */
  | {
      readonly kind: 'contains';
      readonly from: number;
      readonly literal: Literal;
      readonly least: number;
      readonly most: number;
    }
  | { readonly kind: 'unique'; readonly path: string }
  /** A property, if it exists; all properties with certain names; at least one property with one of certain names. */
  | { readonly kind: 'property'; readonly name: string; readonly literal: Literal }
  | { readonly kind: 'properties'; readonly where: NameSet; readonly literal: Literal }
  | {
      readonly kind: 'some-property';
      readonly where: NameSet;
      readonly literal: Literal | null;
      readonly name: Literal | null;
    }
  | { readonly kind: 'required'; readonly name: string; readonly path: string }
  | { readonly kind: 'absent'; readonly name: string }
  | { readonly kind: 'names'; readonly literal: Literal }
  /** What a schema evaluates, and the condition on the rest. */
  | { readonly kind: 'evaluated-names'; readonly owner: string; readonly where: NameSet }
  | { readonly kind: 'evaluated-items'; readonly owner: string; readonly before: number }
  | { readonly kind: 'evaluated-containing'; readonly owner: string; readonly node: SchemaNode }
  | { readonly kind: 'unevaluated'; readonly owner: string; readonly literal: Literal };

/** Atoms and literals that must all hold, and choices of which one option must hold. */
export interface Parts {
  readonly literals: readonly Literal[];
  readonly atoms: readonly Atom[];
  readonly choices: readonly (readonly Parts[])[];
}

/** A key that is equal for equal literals. */
export function literalKey({ node, holds, owners }: Literal): string {
  return `${holds ? '+' : '-'}${node.id}${owners.length > 0 ? `@${owners.join('@')}` : ''}`;
}

const keys = new WeakMap<Atom, string>();

/** A key that is equal for equal atoms. */
export function atomKey(atom: Atom): string {
  let key = keys.get(atom);
  if (key === undefined) {
    key = JSON.stringify(atom, keyPart);
    keys.set(atom, key);
  }
  return key;
}

function keyPart(name: string, value: unknown): unknown {
  if (name === 'path') return undefined;
  if (name === 'node') return (value as SchemaNode).id;
  if (value === Number.POSITIVE_INFINITY) return 'infinite';
  return name !== '' && isLiteral(value) ? literalKey(value) : value;
}

function isLiteral(value: unknown): value is Literal {
  return typeof value === 'object' && value !== null && 'owners' in value && 'node' in value;
}

/** A key that is equal for equal parts. */
export function partsKey({ literals, atoms, choices }: Parts): string {
  const inner = choices.map((options) => `(${options.map(partsKey).sort().join('|')})`);
  return [...literals.map(literalKey), ...atoms.map(atomKey), ...inner].sort().join('&');
}
