import { InvalidArgumentError } from '@markbase/core';
import type { ToolDefinition } from './chat-message.js';

/** Maximum number of schemas in the tools of one prompt, counting nested ones and references. */
const MAX_SCHEMAS = 10_000;
const MAX_DEPTH = 32;

/** Names that the call syntax can express. */
const NAME = /^[\w.:-]{1,128}$/;

/** Keywords that are rewritten below or have no meaning in a declaration. */
const REWRITTEN = new Set([
  'type',
  'anyOf',
  'oneOf',
  'allOf',
  '$ref',
  '$defs',
  'definitions',
  '$schema',
  'const',
]);

type Schema = Record<string, unknown>;

/**
 * Checks tool definitions and rewrites their schemas so that the template can render them: every schema has exactly one
 * type, local references are resolved, alternatives are reduced to the first one that is not null, nulls are removed.
 *
 * Errors: InvalidArgumentError that names the tool and the field.
 */
export function normalizeTools(tools: readonly ToolDefinition[] | null | undefined): unknown[] | null {
  if (tools === undefined || tools === null) return null;
  if (!Array.isArray(tools)) throw invalid('tools', 'a list', tools);
  if (tools.length === 0) return null;
  const budget = { left: MAX_SCHEMAS };
  return tools.map((tool: ToolDefinition, index) => {
    const where = `tools[${index}]`;
    if (tool?.type !== 'function') throw invalid(`${where}.type`, '"function"', tool?.type);
    const { name, description, parameters, response } = Object(tool.function);
    if (typeof name !== 'string' || !NAME.test(name)) {
      throw invalid(`${where}.function.name`, 'letters, digits and _ . : -, up to 128', name);
    }
    if (typeof (description ?? '') !== 'string') {
      throw invalid(`${where}.function.description`, 'a string', description);
    }
    const normalized: Schema = { name, description: description ?? '' };
    // The template has a shorter form for a tool without parameters.
    if (parameters !== undefined && parameters !== null) {
      normalized.parameters = objectSchema(parameters, `${where}.function.parameters`, budget);
    }
    if (isObject(response))
      normalized.response = objectSchema(response, `${where}.function.response`, budget);
    return { type: 'function', function: normalized };
  });
}

function objectSchema(schema: unknown, where: string, budget: Budget): Schema {
  if (!isObject(schema)) throw invalid(where, 'a JSON schema', schema);
  const normalized = new SchemaNormalizer(schema, where, budget).normalize(schema, []);
  const properties = isObject(normalized.properties) ? normalized.properties : {};
  return { ...normalized, type: 'object', properties };
}

interface Budget {
  left: number;
}

class SchemaNormalizer {
  readonly #root: Schema;
  readonly #where: string;
  readonly #budget: Budget;

  constructor(root: Schema, where: string, budget: Budget) {
    this.#root = root;
    this.#where = where;
    this.#budget = budget;
  }

  /** @param references the references being resolved: one that occurs again is recursive and becomes a plain object */
  normalize(value: unknown, references: readonly string[], depth = 0): Schema {
    if (--this.#budget.left < 0 || depth > MAX_DEPTH) {
      const limits = `at most ${MAX_SCHEMAS} schemas and ${MAX_DEPTH} levels`;
      throw invalid(this.#where, limits, depth > MAX_DEPTH ? 'deeper nesting' : 'more schemas');
    }
    if (!isObject(value)) return { type: 'string' };
    if (typeof value.$ref === 'string') {
      const { $ref: reference, ...siblings } = value;
      if (references.includes(reference))
        return { ...withoutNulls(siblings), type: 'object', properties: {} };
      const target = this.#resolve(reference);
      return this.normalize({ ...target, ...siblings }, [...references, reference], depth + 1);
    }
    const alternatives = value.anyOf ?? value.oneOf;
    if (Array.isArray(alternatives)) {
      const { anyOf, oneOf, ...siblings } = value;
      const chosen = alternatives.find((item) => !isNullSchema(item));
      const isNullable = alternatives.some(isNullSchema);
      const merged = { ...Object(chosen), ...siblings, ...(isNullable ? { nullable: true } : {}) };
      return this.normalize(merged, references, depth + 1);
    }
    if (Array.isArray(value.allOf)) {
      const { allOf, ...siblings } = value;
      return this.normalize(
        mergeAll([...allOf.map((item) => this.#follow(item)), siblings]),
        references,
        depth + 1,
      );
    }
    return this.#normalizePlain(value, references, depth);
  }

  #normalizePlain(value: Schema, references: readonly string[], depth: number): Schema {
    const kept = Object.entries(withoutNulls(value)).filter(([key]) => !REWRITTEN.has(key));
    const schema: Schema = Object.fromEntries(kept);
    if (value.const !== undefined && value.const !== null) schema.enum = [value.const];
    const enumerated = Array.isArray(schema.enum) ? schema.enum : null;
    const types = Array.isArray(value.type) ? value.type : [value.type];
    const named = types.find((type) => typeof type === 'string' && type !== 'null');
    schema.type = named ?? inferType(value, enumerated);
    if (types.includes('null') || enumerated?.includes(null)) schema.nullable = true;
    if (enumerated) schema.enum = enumerated.filter((item) => item !== null);
    else delete schema.enum;
    if (isObject(value.properties)) {
      const properties = Object.entries(value.properties);
      schema.properties = Object.fromEntries(
        properties.map(([key, property]) => [key, this.normalize(property, references, depth + 1)]),
      );
    } else if (schema.type === 'object') schema.properties = {};
    else delete schema.properties;
    if (value.items !== undefined) schema.items = this.normalize(value.items, references, depth + 1);
    if (Array.isArray(value.required))
      schema.required = value.required.filter((key) => typeof key === 'string');
    else delete schema.required;
    return schema;
  }

  #follow(value: unknown): unknown {
    return isObject(value) && typeof value.$ref === 'string' ? this.#resolve(value.$ref) : value;
  }

  /** The schema at a JSON pointer within the tool's own schema. */
  #resolve(reference: string): Schema {
    if (!reference.startsWith('#')) throw invalid(this.#where, 'references that start with #', reference);
    const keys = reference.slice(1).split('/').slice(1);
    let target: unknown = this.#root;
    for (const key of keys) {
      const plain = key.replaceAll('~1', '/').replaceAll('~0', '~');
      target = isObject(target) && Object.hasOwn(target, plain) ? target[plain] : undefined;
    }
    if (!isObject(target)) throw invalid(this.#where, 'references to schemas that exist', reference);
    return target;
  }
}

function inferType(schema: Schema, enumerated: readonly unknown[] | null): string {
  if (schema.properties !== undefined || schema.additionalProperties !== undefined) return 'object';
  if (schema.items !== undefined) return 'array';
  const sample = enumerated?.find((item) => item !== null);
  if (typeof sample === 'boolean') return 'boolean';
  if (typeof sample === 'number') return Number.isInteger(sample) ? 'integer' : 'number';
  return 'string';
}

function mergeAll(schemas: readonly unknown[]): Schema {
  const parts = schemas.filter(isObject);
  const merged: Schema = Object.assign({}, ...parts);
  const properties = parts.map((part) => part.properties).filter(isObject);
  if (properties.length > 0) merged.properties = Object.assign({}, ...properties);
  const required = parts.flatMap((part) => (Array.isArray(part.required) ? part.required : []));
  if (required.length > 0) merged.required = [...new Set(required)];
  return merged;
}

function withoutNulls(schema: Schema): Schema {
  return Object.fromEntries(
    Object.entries(schema).filter(([, value]) => value !== null && value !== undefined),
  );
}

function isNullSchema(schema: unknown): boolean {
  return isObject(schema) && (schema.type === 'null' || schema.const === null);
}

function isObject(value: unknown): value is Schema {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function invalid(argument: string, expected: string, received: unknown): Error {
  return new InvalidArgumentError({ argument, expected, received });
}
