// Long because it generates every keyword that grammars support.
import type { JsonSchema } from '../../src/constraint/schema/json-schema.js';

const NAMES = ['a', 'b', 'c', 'kind'];
const PATTERNS = [
  '^a',
  'b$',
  '^[a-z]{1,4}$',
  '\\d',
  '^(?=.*x)\\w+$',
  '^[^a]*$',
  '[A-C]|z',
  '^\\S{2,}$',
  '\\bab\\b',
  '^\\p{L}+$',
];
const FORMATS = [
  'date',
  'time',
  'date-time',
  'duration',
  'email',
  'hostname',
  'ipv4',
  'ipv6',
  'uri',
  'uri-reference',
  'uuid',
  'json-pointer',
  'relative-json-pointer',
  'uri-template',
];
const CONSTANTS = ['a', 'b', '', 'kind', 0, 1, -2, 1.5, 100, true, false, null, [], [1], {}, { a: 1 }];

type Schema = Record<string, unknown>;

/** Generates schemas with all keywords, in which several restrictions apply to the same values. */
export class RandomSchemas {
  readonly #random: () => number;
  /** ajv 8 forgets what `properties` evaluates if `dependentSchemas` does not apply, so the two are not mixed. */
  readonly #mayBeUnevaluated: boolean;

  constructor(random: () => number) {
    this.#random = random;
    this.#mayBeUnevaluated = random() < 0.5;
  }

  schema(depth: number): JsonSchema {
    const roll = this.#random();
    if (roll < 0.04) return this.#random() < 0.8;
    if (depth === 0 || roll < 0.5) return this.#typed(depth);
    if (roll < 0.58) return { enum: this.#some(CONSTANTS, 4) };
    return this.#combined(depth);
  }

  #combined(depth: number): Schema {
    const base: Schema = this.#random() < 0.5 ? this.#typed(depth) : {};
    const list = () => Array.from({ length: 1 + this.#upTo(2) }, () => this.schema(depth - 1));
    const keyword = this.#one(['allOf', 'anyOf', 'oneOf', 'not', 'if', '$ref']);
    if (keyword === 'not') return { ...base, not: this.schema(depth - 1) };
    if (keyword === '$ref') return { ...base, $ref: `#/$defs/${this.#one(['x', 'y'])}` };
    if (keyword !== 'if') return { ...base, [keyword]: list() };
    const branches: Schema = { ...base, if: this.schema(depth - 1) };
    // biome-ignore lint/suspicious/noThenProperty: a keyword of JSON Schema
    if (this.#random() < 0.8) branches.then = this.schema(depth - 1);
    if (this.#random() < 0.6) branches.else = this.schema(depth - 1);
    return branches;
  }

  /** Keywords for one kind of value, with or without its type. */
  #typed(depth: number): Schema {
    const kind = this.#one(['object', 'object', 'array', 'string', 'number', 'integer', 'boolean', 'null']);
    const schema: Schema = this.#random() < 0.7 ? { type: kind } : {};
    if (schema.type && this.#random() < 0.05) schema.nullable = true;
    if (kind === 'object') this.#object(schema, depth);
    if (kind === 'array') this.#array(schema, depth);
    if (kind === 'string') this.#string(schema);
    if (kind === 'number' || kind === 'integer') this.#number(schema);
    return schema;
  }

  #object(schema: Schema, depth: number): void {
    const inner = () => (depth > 0 ? this.schema(depth - 1) : this.#random() < 0.9);
    const names = this.#some(NAMES, 3);
    this.#maybe(0.7, () => (schema.properties = Object.fromEntries(names.map((name) => [name, inner()]))));
    this.#maybe(0.5, () => (schema.required = this.#some(NAMES, 2)));
    this.#maybe(0.4, () => (schema.additionalProperties = inner()));
    this.#maybe(0.2, () => (schema.patternProperties = { [this.#one(PATTERNS)]: inner() }));
    this.#maybe(
      0.15,
      () =>
        (schema.propertyNames = this.#random() < 0.5 ? { pattern: this.#one(PATTERNS) } : { maxLength: 2 }),
    );
    this.#maybe(0.2, () => (schema.minProperties = this.#upTo(3)));
    this.#maybe(0.2, () => (schema.maxProperties = this.#upTo(4)));
    this.#maybe(0.1, () => (schema.dependentRequired = { [this.#one(NAMES)]: this.#some(NAMES, 2) }));
    this.#maybe(
      this.#mayBeUnevaluated ? 0 : 0.1,
      () => (schema.dependentSchemas = { [this.#one(NAMES)]: inner() }),
    );
    this.#maybe(this.#mayBeUnevaluated ? 0.2 : 0, () => (schema.unevaluatedProperties = inner()));
  }

  #array(schema: Schema, depth: number): void {
    const inner = () => (depth > 0 ? this.schema(depth - 1) : this.#random() < 0.9);
    this.#maybe(0.5, () => (schema.items = inner()));
    this.#maybe(0.3, () => (schema.prefixItems = [inner(), inner()].slice(this.#upTo(1))));
    this.#maybe(0.3, () => (schema.minItems = this.#upTo(3)));
    this.#maybe(0.3, () => (schema.maxItems = this.#upTo(4)));
    this.#maybe(0.2, () => (schema.contains = inner()));
    this.#maybe(0.1, () => (schema.minContains = this.#upTo(2)));
    this.#maybe(0.1, () => (schema.maxContains = this.#upTo(3)));
    this.#maybe(0.1, () =>
      Object.assign(schema, { uniqueItems: true, items: { enum: this.#some(CONSTANTS, 9) } }),
    );
    this.#maybe(this.#mayBeUnevaluated ? 0.2 : 0, () => (schema.unevaluatedItems = inner()));
  }

  #string(schema: Schema): void {
    this.#maybe(0.4, () => (schema.pattern = this.#one(PATTERNS)));
    this.#maybe(0.3, () => (schema.format = this.#one(FORMATS)));
    this.#maybe(0.3, () => (schema.minLength = this.#upTo(4)));
    this.#maybe(0.3, () => (schema.maxLength = 1 + this.#upTo(30)));
  }

  #number(schema: Schema): void {
    const bound = () => this.#one([-100.5, -3, -1, -0.25, 0, 0.3, 1, 2.75, 7, 99, 1e6, 12345678901]);
    this.#maybe(0.3, () => (schema.minimum = bound()));
    this.#maybe(0.3, () => (schema.maximum = bound()));
    this.#maybe(0.2, () => (schema.exclusiveMinimum = bound()));
    this.#maybe(0.2, () => (schema.exclusiveMaximum = bound()));
    this.#maybe(0.3, () => (schema.multipleOf = this.#one([1, 2, 3, 7, 10, 250, 0.5, 0.25])));
  }

  #maybe(probability: number, change: () => unknown): void {
    if (this.#random() < probability) change();
  }

  #upTo(most: number): number {
    return Math.floor(this.#random() * (most + 1));
  }

  #one<T>(list: readonly T[]): T {
    return list[this.#upTo(list.length - 1)]!;
  }

  #some<T>(list: readonly T[], most: number): T[] {
    const shuffled = [...list].sort(() => this.#random() - 0.5);
    return shuffled.slice(0, 1 + this.#upTo(most - 1));
  }
}
