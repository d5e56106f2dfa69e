// Long because it has one short check for each keyword.

import { includes } from '../language/dfa.js';
import { decimalOf } from '../language/numbers.js';
import type { SchemaDocument, SchemaNode } from './document.js';
import { isEqual, type Keywords, kindOf } from './json-schema.js';
import type { Languages } from './languages.js';
import type { OnUnsupported } from './refusals.js';

/** Checks the values that a schema lists. */
export class ValueCheck {
  readonly #document: SchemaDocument;
  readonly #languages: Languages;
  readonly #onUnsupported: OnUnsupported;
  /** Results so far: a schema that is reached in many ways is checked once. */
  readonly #known = new Map<SchemaNode, Map<unknown, boolean>>();
  readonly #listed = new WeakMap<object, ReadonlySet<unknown>>();

  constructor(document: SchemaDocument, languages: Languages, onUnsupported: OnUnsupported) {
    this.#document = document;
    this.#languages = languages;
    this.#onUnsupported = onUnsupported;
  }

  /** @throws InvalidArgumentError for malformed schemas and for keywords that cannot be checked */
  isValid(node: SchemaNode, value: unknown): boolean {
    if (typeof node.schema === 'boolean') return node.schema;
    const schema = this.#document.keywordsOf(node);
    this.#languages.budget.addSteps();
    let known = this.#known.get(node);
    if (!known) {
      known = new Map();
      this.#known.set(node, known);
    }
    let isValid = known.get(value);
    if (isValid === undefined) {
      isValid =
        this.#general(node, schema, value) &&
        this.#combined(node, schema, value) &&
        this.#own(node, schema, value);
      known.set(value, isValid);
    }
    return isValid;
  }

  #part(node: SchemaNode, value: unknown, ...steps: (string | number)[]): boolean {
    return this.isValid(this.#document.child(node, ...steps), value);
  }

  #general(node: SchemaNode, schema: Keywords, value: unknown): boolean {
    if (!(typesOf(schema)?.some((name) => isOfType(name, value)) ?? true)) return false;
    if (schema.const !== undefined && !isEqual(schema.const, value)) return false;
    if (schema.enum && !this.#isListed(schema.enum as unknown[], value)) return false;
    const target = this.#document.targetOf(node);
    return !target || this.isValid(target, value);
  }

  #isListed(values: readonly unknown[], value: unknown): boolean {
    if (typeof value === 'object' && value !== null) {
      this.#languages.budget.addSteps(values.length);
      return values.some((listed) => isEqual(listed, value));
    }
    let known = this.#listed.get(values);
    if (!known) {
      known = new Set(values);
      this.#listed.set(values, known);
    }
    return known.has(value);
  }

  #combined(node: SchemaNode, schema: Keywords, value: unknown): boolean {
    const count = (keyword: string) =>
      (schema[keyword] as unknown[]).filter((_, index) => this.#part(node, value, keyword, index)).length;
    if (schema.allOf && count('allOf') < (schema.allOf as unknown[]).length) return false;
    if (schema.anyOf && count('anyOf') === 0) return false;
    if (schema.oneOf && count('oneOf') !== 1) return false;
    if (schema.not !== undefined && this.#part(node, value, 'not')) return false;
    if (schema.if === undefined) return true;
    const branch = this.#part(node, value, 'if') ? 'then' : 'else';
    return schema[branch] === undefined || this.#part(node, value, branch);
  }

  #own(node: SchemaNode, schema: Keywords, value: unknown): boolean {
    switch (kindOf(value)) {
      case 'number':
        return isInBounds(schema, value as number);
      case 'string':
        return this.#text(node, schema, value as string);
      case 'array':
        return this.#array(node, schema, value as unknown[]);
      case 'object':
        return this.#object(node, schema, value as Record<string, unknown>);
      default:
        return true;
    }
  }

  #text(node: SchemaNode, { pattern, format, minLength, maxLength }: Keywords, value: string): boolean {
    if (!isCount([...value].length, minLength, maxLength)) return false;
    const matches = typeof pattern === 'string' ? this.#languages.pattern(pattern, node.path) : null;
    if (matches && !includes(matches, value)) return false;
    const formatted = typeof format === 'string' ? this.#languages.format(format, node.path) : null;
    return !formatted || includes(formatted, value);
  }

  #array(node: SchemaNode, schema: Keywords, value: readonly unknown[]): boolean {
    if (schema.unevaluatedItems !== undefined) this.#refuse(node, 'unevaluatedItems');
    if (!isCount(value.length, schema.minItems, schema.maxItems)) return false;
    if (schema.uniqueItems === true) this.#languages.budget.addSteps(value.length ** 2);
    if (schema.uniqueItems === true && value.some((a, i) => value.some((b, j) => j < i && isEqual(a, b))))
      return false;
    const { first, rest } = itemKeywords(schema);
    const listed = first ? (schema[first] as unknown[]).length : 0;
    const areItemsValid = value.every((item, index) => {
      if (first && index < listed) return this.#part(node, item, first, index);
      return rest === null || this.#part(node, item, rest);
    });
    if (!areItemsValid) return false;
    if (schema.contains === undefined) return true;
    const count = value.filter((item) => this.#part(node, item, 'contains')).length;
    return isCount(count, schema.minContains ?? 1, schema.maxContains);
  }

  #object(node: SchemaNode, schema: Keywords, value: Readonly<Record<string, unknown>>): boolean {
    if (schema.unevaluatedProperties !== undefined) this.#refuse(node, 'unevaluatedProperties');
    const names = Object.keys(value);
    if (!isCount(names.length, schema.minProperties, schema.maxProperties)) return false;
    const has = (name: string) => Object.hasOwn(value, name);
    if (!((schema.required ?? []) as string[]).every(has)) return false;
    for (const keyword of ['dependentRequired', 'dependentSchemas', 'dependencies']) {
      for (const [name, wanted] of Object.entries((schema[keyword] ?? {}) as object)) {
        if (!has(name)) continue;
        if (Array.isArray(wanted) ? !wanted.every(has) : !this.#part(node, value, keyword, name))
          return false;
      }
    }
    return names.every((name) => this.#property(node, schema, name, value[name]));
  }

  #property(node: SchemaNode, schema: Keywords, name: string, value: unknown): boolean {
    if (schema.propertyNames !== undefined && !this.#part(node, name, 'propertyNames')) return false;
    let isNamed = false;
    if (schema.properties && Object.hasOwn(schema.properties as object, name)) {
      isNamed = true;
      if (!this.#part(node, value, 'properties', name)) return false;
    }
    for (const pattern of Object.keys((schema.patternProperties ?? {}) as object)) {
      const names = this.#languages.pattern(pattern, node.path, 'patternProperties');
      if (!names || !includes(names, name)) continue;
      isNamed = true;
      if (!this.#part(node, value, 'patternProperties', pattern)) return false;
    }
    return (
      isNamed || schema.additionalProperties === undefined || this.#part(node, value, 'additionalProperties')
    );
  }

  #refuse(node: SchemaNode, keyword: string): void {
    this.#onUnsupported({ path: node.path, keyword, expected: 'listed values without this keyword' });
  }
}

/** The types that a schema allows, in lower case; null without `type`. `nullable` adds one, as in OpenAPI. */
export function typesOf({ type, nullable }: Keywords): string[] | null {
  if (type === undefined) return null;
  const names = (Array.isArray(type) ? type : [type]).map((name) => String(name).toLowerCase());
  return nullable === true ? [...names, 'null'] : names;
}

/** The keywords for the first items and for those after them, which drafts spell differently. */
export function itemKeywords(schema: Keywords): { first: string | null; rest: string | null } {
  if (Array.isArray(schema.items))
    return { first: 'items', rest: schema.additionalItems === undefined ? null : 'additionalItems' };
  return {
    first: schema.prefixItems ? 'prefixItems' : null,
    rest: schema.items === undefined ? null : 'items',
  };
}

function isOfType(type: string, value: unknown): boolean {
  return type === kindOf(value) || (type === 'integer' && Number.isInteger(value));
}

function isCount(count: number, least: unknown, most: unknown): boolean {
  return (
    count >= ((least as number | undefined) ?? 0) &&
    count <= ((most as number | undefined) ?? Number.POSITIVE_INFINITY)
  );
}

function isInBounds(schema: Keywords, value: number): boolean {
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf } = schema as Readonly<
    Record<string, number | undefined>
  >;
  if (minimum !== undefined && value < minimum) return false;
  if (maximum !== undefined && value > maximum) return false;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return false;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return false;
  return multipleOf === undefined || isMultiple(value, multipleOf);
}

function isMultiple(value: number, of: number): boolean {
  const [a, b] = [decimalOf(value), decimalOf(of)];
  const places = Math.max(a.fraction.length, b.fraction.length);
  const scaled = ({ whole, fraction }: typeof a) => BigInt(`${whole}${fraction.padEnd(places, '0')}`);
  return scaled(a) % scaled(b) === 0n;
}
