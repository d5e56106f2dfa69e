// Long because it covers JSON Schema, with one short method per kind of value.
import { InvalidArgumentError } from '@markbase/core';
import type { Dialect } from './dialect.js';
import { choice, type Expression, literal, reference, repeat, sequence } from './grammar.js';
import { ANY_NUMBER, integerGrammar, numberGrammar } from './number-grammar.js';
import { patternGrammar } from './pattern-grammar.js';
import { checkKeywords } from './schema-keywords.js';
import { FORMATS } from './string-grammar.js';

/** A JSON Schema: an object of keywords, or true (any value) or false (no value). */
export type JsonSchema = boolean | { readonly [keyword: string]: unknown };
type Keywords = { readonly [keyword: string]: unknown };

/** Keywords that do not affect which values are valid. */
const ANNOTATIONS = new Set([
  '$schema',
  '$id',
  '$comment',
  '$defs',
  'definitions',
  'title',
  'description',
  'default',
  'examples',
  'example',
  'deprecated',
  'readOnly',
  'writeOnly',
  'nullable',
  'strict',
  'format',
]);
const SUPPORTED = new Set([
  'type',
  'enum',
  'const',
  'properties',
  'required',
  'additionalProperties',
  'items',
  'prefixItems',
  'minItems',
  'maxItems',
  'minLength',
  'maxLength',
  'pattern',
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
]);
const TYPES = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
/** Longest chain of references without a value in between. */
const MAX_REFERENCES = 64;

/**
 * The grammar of a JSON Schema in a dialect. Every text of the grammar is valid. Where a grammar cannot express all
 * valid values, it covers a part of them: properties come in the order of the schema, undeclared properties are allowed
 * only if none are declared, `oneOf` is treated as `anyOf`, and numbers have at most 16 digits.
 *
 * @param options.ignoresUnknown ignores unsupported keywords instead of refusing the schema
 * @throws InvalidArgumentError for malformed schemas and for unsupported keywords, with their path
 */
export function schemaGrammar(
  schema: JsonSchema,
  dialect: Dialect,
  options: { readonly ignoresUnknown?: boolean } = {},
): Expression {
  return new SchemaCompiler(schema, dialect, options.ignoresUnknown ?? false).compile(schema, '#');
}

/** Any JSON object, for answers that must be JSON but have no schema. */
export function anyObjectGrammar(dialect: Dialect): Expression {
  return new SchemaCompiler(true, dialect, false).compile(
    { type: 'object', additionalProperties: true },
    '#',
  );
}

class SchemaCompiler {
  readonly #root: JsonSchema;
  readonly #dialect: Dialect;
  readonly #rules = new Map<unknown, Expression>();
  readonly #ignoresUnknown: boolean;
  #anyValue: Expression | null = null;

  constructor(root: JsonSchema, dialect: Dialect, ignoresUnknown: boolean) {
    this.#root = root;
    this.#ignoresUnknown = ignoresUnknown;
    this.#dialect = dialect;
  }

  /** A rule for a schema: the same object for the same schema, so that compiling recursive schemas ends. */
  #rule(schema: JsonSchema, path: string): Expression {
    return reference(() => {
      const known = this.#rules.get(schema);
      if (known) return known;
      const compiled = this.compile(schema, path);
      this.#rules.set(schema, compiled);
      return compiled;
    });
  }

  compile(schema: JsonSchema, path: string, references = 0): Expression {
    if (schema === true) return this.#any();
    if (schema === false) return choice();
    checkKeywords(schema, path);
    for (const keyword of Object.keys(schema)) {
      if (!this.#ignoresUnknown && !SUPPORTED.has(keyword) && !ANNOTATIONS.has(keyword)) {
        this.#refuse(`${path}/${keyword}`, `one of the keywords ${[...SUPPORTED].join(', ')}`, keyword);
      }
    }
    if (schema.nullable === true)
      return choice(this.compile({ ...schema, nullable: false }, path, references), literal('null'));
    if (typeof schema.$ref === 'string') {
      if (references > MAX_REFERENCES)
        this.#refuse(path, 'a chain of references that ends at a schema', schema.$ref);
      return this.compile(this.#resolve(schema.$ref, path), schema.$ref, references + 1);
    }
    if ('const' in schema) return this.#constant(schema.const, path);
    if (Array.isArray(schema.enum))
      return choice(...schema.enum.map((value) => this.#constant(value, `${path}/enum`)));
    for (const keyword of ['anyOf', 'oneOf'] as const) {
      const options = schema[keyword];
      if (options === undefined) continue;
      if (!Array.isArray(options) || options.length === 0)
        this.#refuse(`${path}/${keyword}`, 'a list of schemas', options);
      const { [keyword]: _, ...shared } = schema;
      const alone = Object.keys(shared).every((name) => ANNOTATIONS.has(name));
      return choice(
        ...options.map((option: JsonSchema, index) => {
          const at = `${path}/${keyword}/${index}`;
          return this.compile(alone ? option : this.#merge([shared, option], at), at, references + 1);
        }),
      );
    }
    if (Array.isArray(schema.allOf)) {
      const { allOf, ...shared } = schema;
      return this.compile(
        this.#merge([shared, ...(allOf as JsonSchema[])], `${path}/allOf`),
        path,
        references + 1,
      );
    }
    return choice(...this.#typesOf(schema, path).map((type) => this.#typed(type, schema, path)));
  }

  #typesOf(schema: Keywords, path: string): string[] {
    const { type } = schema;
    if (type === undefined) {
      if ('properties' in schema || 'required' in schema || 'additionalProperties' in schema)
        return ['object'];
      if ('items' in schema || 'prefixItems' in schema || 'minItems' in schema) return ['array'];
      if ('pattern' in schema || 'minLength' in schema || 'maxLength' in schema) return ['string'];
      if ('minimum' in schema || 'maximum' in schema) return ['number'];
      return ['any'];
    }
    const types = (Array.isArray(type) ? type : [type]).map((name) => String(name).toLowerCase());
    if (types.length === 0 || types.some((name) => !TYPES.includes(name)))
      this.#refuse(`${path}/type`, `one of the types ${TYPES.join(', ')}`, type);
    return types;
  }

  #typed(type: string, schema: Keywords, path: string): Expression {
    switch (type) {
      case 'object':
        return this.#object(schema, path);
      case 'array':
        return this.#array(schema, path);
      case 'string':
        return this.#string(schema, path);
      case 'boolean':
        return choice(literal('true'), literal('false'));
      case 'null':
        return literal('null');
      case 'any':
        return this.#any();
      default:
        return this.#number(schema, path, type === 'integer');
    }
  }

  #number(schema: Keywords, path: string, isInteger: boolean): Expression {
    const bound = (name: string, fallback: number) => this.#numberOf(schema, name, path) ?? fallback;
    const low = bound('minimum', Number.NEGATIVE_INFINITY);
    const high = bound('maximum', Number.POSITIVE_INFINITY);
    const above = bound('exclusiveMinimum', Number.NEGATIVE_INFINITY);
    const below = bound('exclusiveMaximum', Number.POSITIVE_INFINITY);
    if (isInteger)
      return integerGrammar(Math.max(low, Math.floor(above) + 1), Math.min(high, Math.ceil(below) - 1));
    if (above < low && below > high) return numberGrammar(low, high);
    // Exclusive bounds: integer parts well inside the range, and the midpoint in case there are none.
    const [least, most] = [Math.max(low, above), Math.min(high, below)];
    if (!(least < most)) return choice();
    const inside = numberGrammar(
      above >= low ? Math.floor(above) + 1 : low,
      below <= high ? Math.ceil(below) - 1 : high,
    );
    const hasMiddle = Number.isFinite(least) && Number.isFinite(most);
    return hasMiddle ? choice(inside, literal(JSON.stringify((least + most) / 2))) : inside;
  }

  #string(schema: Keywords, path: string): Expression {
    const { quoted, character } = this.#dialect;
    const format = typeof schema.format === 'string' ? FORMATS.get(schema.format) : undefined;
    if (format && schema.pattern === undefined) return quoted(format);
    const [least, most] = this.#counts(schema, 'minLength', 'maxLength', path);
    if (schema.pattern !== undefined) {
      if (typeof schema.pattern !== 'string')
        this.#refuse(`${path}/pattern`, 'a regular expression', schema.pattern);
      if (least > 0 || most !== Number.POSITIVE_INFINITY) {
        this.#refuse(`${path}/pattern`, 'either a pattern or length limits, not both', schema.pattern);
      }
      return quoted(patternGrammar(schema.pattern, this.#dialect.characterOf));
    }
    return quoted(repeat(character, least, most));
  }

  #array(schema: Keywords, path: string): Expression {
    const { space } = this.#dialect;
    const prefix = (schema.prefixItems ?? []) as JsonSchema[];
    if (!Array.isArray(prefix)) this.#refuse(`${path}/prefixItems`, 'a list of schemas', prefix);
    const [least, most] = this.#counts(schema, 'minItems', 'maxItems', path);
    const items = schema.items ?? prefix.length === 0;
    const first = prefix.map((item, index) => this.#rule(item, `${path}/prefixItems/${index}`));
    const rest = items === false ? choice() : this.#rule(items as JsonSchema, `${path}/items`);
    const comma = sequence(literal(','), space);
    const hasRest = items !== false;
    const fixed = Math.min(first.length, most);
    const after = (count: number): Expression => {
      const isFirst = count === 0;
      const extra = sequence(...(isFirst ? [] : [comma]), rest);
      if (!hasRest || most <= count) return sequence();
      const more = Math.max(0, least - count);
      if (!isFirst) return repeat(extra, more, most - count);
      const others = repeat(sequence(comma, rest), Math.max(0, more - 1), most - 1);
      return more > 0 ? sequence(rest, others) : choice(sequence(), sequence(rest, others));
    };
    const listed = first.slice(0, fixed).flatMap((item, index) => (index === 0 ? [item] : [comma, item]));
    return sequence(literal('['), space, ...listed, after(fixed), space, literal(']'));
  }

  #object(schema: Keywords, path: string): Expression {
    const { space } = this.#dialect;
    const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
    if (typeof properties !== 'object' || properties === null)
      this.#refuse(`${path}/properties`, 'an object of schemas', properties);
    const required = new Set((schema.required ?? []) as string[]);
    const names = this.#dialect.inOrder([...new Set([...Object.keys(properties), ...required])]);
    if (names.length === 0) return this.#map(schema, path);
    const members = names.map((name) => {
      const value = this.#rule(
        Object.hasOwn(properties, name) ? properties[name]! : true,
        `${path}/properties/${name}`,
      );
      return { member: sequence(this.#dialect.key(name), value), isRequired: required.has(name) };
    });
    const comma = sequence(literal(','), space);
    // What may follow once the first `index` names are decided, without and with one written before. Each is a rule of
    // its own; otherwise the grammar would double in size with every optional property.
    const known = new Map<string, Expression>();
    const from = (index: number, hasPrevious: boolean): Expression => {
      const key = `${index}/${hasPrevious}`;
      const seen = known.get(key);
      if (seen) return seen;
      const { member, isRequired } = members[index]!;
      const later = (has: boolean) =>
        index + 1 < members.length ? reference(() => from(index + 1, has)) : sequence();
      const taken = sequence(...(hasPrevious ? [comma] : []), member, later(true));
      const expression = isRequired ? taken : choice(taken, later(hasPrevious));
      known.set(key, expression);
      return expression;
    };
    return sequence(literal('{'), space, from(0, false), space, literal('}'));
  }

  /** An object without declared properties. */
  #map(schema: Keywords, path: string): Expression {
    const { space } = this.#dialect;
    const additional = (schema.additionalProperties ?? !('properties' in schema)) as JsonSchema;
    const empty = sequence(literal('{'), space, literal('}'));
    if (additional === false) return empty;
    const value = this.#rule(additional, `${path}/additionalProperties`);
    const member = sequence(this.#dialect.anyKey, space, value);
    const members = sequence(member, repeat(sequence(literal(','), space, member), 0));
    return choice(empty, sequence(literal('{'), space, members, space, literal('}')));
  }

  #any(): Expression {
    return reference(() => {
      this.#anyValue ??= this.#anyBody();
      return this.#anyValue;
    });
  }

  #anyBody(): Expression {
    const { quoted, character } = this.#dialect;
    return choice(
      literal('null'),
      literal('true'),
      literal('false'),
      ANY_NUMBER,
      quoted(repeat(character, 0)),
      this.#array({}, '#'),
      this.#map({}, '#'),
    );
  }

  #constant(value: unknown, path: string): Expression {
    const { space } = this.#dialect;
    if (typeof value === 'string') return this.#dialect.text(value);
    if (value === null || typeof value === 'number' || typeof value === 'boolean')
      return literal(JSON.stringify(value));
    if (typeof value !== 'object') this.#refuse(path, 'a JSON value', value);
    const comma = sequence(literal(','), space);
    const separated = (items: Expression[]) =>
      items.flatMap((item, index) => (index === 0 ? [item] : [comma, item]));
    if (Array.isArray(value)) {
      const items = value.map((item) => this.#constant(item, path));
      return sequence(literal('['), ...separated(items), literal(']'));
    }
    const fields = value as Record<string, unknown>;
    const members = this.#dialect
      .inOrder(Object.keys(fields))
      .map((name) => sequence(this.#dialect.key(name), this.#constant(fields[name], path)));
    return sequence(literal('{'), ...separated(members), literal('}'));
  }

  /** Merges schemas that must all hold. Objects are joined; any other keyword may appear in only one of them. */
  #merge(schemas: readonly JsonSchema[], path: string): JsonSchema {
    let merged: Record<string, unknown> = {};
    for (const one of schemas) {
      if (one === true) continue;
      if (one === false) return false;
      checkKeywords(one, path);
      let schema = one as Record<string, unknown>;
      for (let hops = 0; typeof schema.$ref === 'string'; hops++) {
        if (hops > MAX_REFERENCES)
          this.#refuse(path, 'a chain of references that ends at a schema', schema.$ref);
        schema = this.#resolve(schema.$ref, path) as Record<string, unknown>;
        checkKeywords(schema, path);
      }
      for (const [keyword, value] of Object.entries(schema)) {
        const present = merged[keyword];
        if (
          present === undefined ||
          ANNOTATIONS.has(keyword) ||
          JSON.stringify(present) === JSON.stringify(value)
        ) {
          merged = { ...merged, [keyword]: value };
        } else if (keyword === 'properties') {
          merged = { ...merged, properties: { ...(present as object), ...(value as object) } };
        } else if (keyword === 'required') {
          merged = { ...merged, required: [...(present as string[]), ...(value as string[])] };
        } else {
          this.#refuse(`${path}/${keyword}`, 'schemas of which only one uses this keyword', keyword);
        }
      }
    }
    return merged;
  }

  #resolve(pointer: string, path: string): JsonSchema {
    let found: unknown = pointer.startsWith('#') ? this.#root : undefined;
    for (const part of pointer
      .slice(1)
      .split('/')
      .filter((piece) => piece !== '')) {
      const name = decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~');
      const isIn = typeof found === 'object' && found !== null && Object.hasOwn(found, name);
      found = isIn ? (found as Record<string, unknown>)[name] : undefined;
    }
    if (found === undefined)
      this.#refuse(`${path}/$ref`, 'a reference inside the same schema, such as #/$defs/name', pointer);
    return found as JsonSchema;
  }

  #counts(schema: Keywords, least: string, most: string, path: string): [number, number] {
    const low = this.#numberOf(schema, least, path) ?? 0;
    const high = this.#numberOf(schema, most, path) ?? Number.POSITIVE_INFINITY;
    if (low < 0 || high < low)
      this.#refuse(`${path}/${least}`, `a count from 0 to ${most}`, `${low} to ${high}`);
    return [Math.ceil(low), Math.floor(high)];
  }

  #numberOf(schema: Keywords, name: string, path: string): number | undefined {
    const value = schema[name];
    if (value === undefined) return undefined;
    if (typeof value !== 'number' || !Number.isFinite(value))
      this.#refuse(`${path}/${name}`, 'a number', value);
    return value;
  }

  #refuse(path: string, expected: string, received: unknown): never {
    throw new InvalidArgumentError({ argument: `schema ${path}`, expected, received });
  }
}
